"""Shadows on the pages: the part of Learn, the decision page, the list's filter and the queue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from db.people.records import Role
from tests.support.review_world import World
from tests.support.reviewing import Visitor, Visitors, add_person

SHOP = "corner-shop"
REPLY = "text of shadow reply"


@pytest.fixture(scope="module")
def world(database_url: str) -> Iterator[World]:
    """An account with a decision that a shadow would have ended otherwise."""
    with World(database_url, SHOP, lambda field: f"text of {field}") as found:
        yield found


@pytest.fixture(scope="module")
def candidate(world: World) -> UUID:
    """A candidate whose shadow was switched off."""
    return world.shadowed()


def signed_in(world: World, visitors: Visitors, role: Role) -> Visitor:
    """A person with a role on the account."""
    found = visitors()
    found.sign_in(add_person(world.url, role, account=SHOP))
    return found


def trial(world: World, state: str) -> str:
    """The address of the account's shadow in a state."""
    found = world.one("SELECT id FROM trials WHERE kind = 'shadow' AND state = %s", state)
    return f"/accounts/{SHOP}/learn/trials/{found}"


@pytest.mark.usefixtures("candidate")
def test_trials_have_a_heading_once_there_is_a_candidate(world: World, visitors: Visitors) -> None:
    """An account without any has one empty state and no heading of a part."""
    lead = visitors()
    lead.sign_in(add_person(world.url, Role.LEAD))
    empty = lead.get("/accounts/account-without-trials/learn").text
    filled = lead.get(f"/accounts/{SHOP}/learn").text
    headings = [re.findall(r"<h2[^>]*>([^<]+)</h2>", page.partition("<main")[2]) for page in (empty, filled)]

    assert headings[0] == ["Nothing is tried yet"]
    assert {"Candidates", "Trials"} <= set(headings[1])


def test_a_lead_starts_and_stops_and_others_read(world: World, candidate: UUID, visitors: Visitors) -> None:
    """Refusals are said in words; a viewer has no buttons and gets no form accepted."""
    lead, viewer = (signed_in(world, visitors, role) for role in (Role.LEAD, Role.VIEWER))
    learn = f"/accounts/{SHOP}/learn"
    first, seen = lead.get(learn).text, viewer.get(learn).text
    off = viewer.get(trial(world, "failed")).text
    listed = [viewer.get(f"{learn}?kind={kind}").text for kind in ("shadow", "rollout", "else")]
    begun = lead.post(f"{learn}/shadows", candidate=str(candidate), reason="a try", usd_a_day="0,5")
    twice = lead.post(f"{learn}/shadows", candidate=str(candidate), reason="a try", usd_a_day="")
    wrong = [
        lead.post(f"{learn}/shadows", candidate=each, reason="a try", usd_a_day=usd).status_code
        for each, usd in ((str(uuid7()), "0"), ("x", "0"), (str(candidate), "much"), (str(candidate), "-1"))
    ]
    refused = viewer.post(f"{learn}/shadows", candidate=str(candidate), reason="a try")
    page = trial(world, "running")
    running = lead.get(page).text
    unexplained = lead.post(f"{page}/stop", reason=" ")
    stopped = lead.post(f"{page}/stop", reason="seen enough")
    again = lead.post(f"{page}/stop", reason="seen enough")
    after = viewer.get(page).text
    shadow = page.rpartition("/")[2]

    assert "switched off" in first
    assert "text of shadow end" in first
    assert "12 decisions, 1 of them would have ended otherwise" in first
    assert ["text of shadow end" in each for each in listed] == [True, False, True]
    assert "text of shadow end" in off
    assert "text of shadow reason" in off
    assert "Left out: too old" in off
    assert "Stop</button>" not in viewer.get(page).text
    assert "Start a shadow</button>" in first
    assert "Start a shadow</button>" not in seen
    assert (begun.status_code, twice.status_code, refused.status_code) == (303, 409, 403)
    assert "one of this candidate at a time" in twice.text
    assert wrong == [404, 422, 422, 409]
    assert "It has seen no decision yet" in running
    assert [each.status_code for each in (unexplained, stopped, again)] == [422, 303, 409]
    assert "seen enough" in after
    assert world.one("SELECT usd_a_day FROM trials WHERE id = %s", shadow) == 0.5
    logged = "SELECT count(*) FROM access_log WHERE detail ->> 'shadow' = %s AND detail ? 'step'"
    assert world.one(logged + " AND person_id IS NOT NULL", shadow) == 2


def test_the_decision_page_says_what_a_candidate_would_have_done(
    world: World, candidate: UUID, visitors: Visitors
) -> None:
    """Reviewers read the sealed reply, which is logged; viewers do not; a blind reader sees none of it."""
    assert candidate
    path = f"/decisions/{world.decision.decision_id}"
    reviewer, viewer = (signed_in(world, visitors, role) for role in (Role.REVIEWER, Role.VIEWER))
    read, seen = reviewer.get(path).text, viewer.get(path).text
    logged = world.one("SELECT count(*) FROM access_log WHERE detail ? 'shadow_replies'")
    blind = add_person(world.url, Role.REVIEWER, account=SHOP)
    queue = world.made("queues", name="held", kind="hand", definition="{}")
    world.add(
        "queue_items", queue_id=queue, decision_id=world.decision.decision_id, user_id=SHOP,
        decision_at=world.decision.decided_at, assigned_to=blind.person_id, claimed_by=blind.person_id,
        claimed_until=datetime(2100, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    reader = visitors()
    reader.sign_in(blind)
    unseen = reader.get(path).text

    assert REPLY in read
    assert "Newly released" in read
    assert REPLY not in seen
    assert "Newly released" in seen
    assert "Newly released" not in unseen
    assert logged == 1


def test_differences_are_a_filter_and_a_queue(world: World, candidate: UUID, visitors: Visitors) -> None:
    """The list has them by kind, the queue all of a shadow; wrong values are said; others find none."""
    lead = signed_in(world, visitors, Role.LEAD)
    decision = str(world.decision.decision_id)
    found = lead.get(f"/decisions?since=all&shadow=newly_released:{candidate}").text
    other = lead.get(f"/decisions?since=all&shadow=newly_stopped:{candidate}").text
    wrong = lead.get("/decisions?since=all&shadow=casino")
    stranger = visitors()
    stranger.sign_in(add_person(world.url, Role.LEAD, account="elsewhere"))
    elsewhere = stranger.get(f"/decisions?since=all&shadow=any:{candidate}").text
    shadow = world.one("SELECT shadow_id FROM shadow_results LIMIT 1")
    page = f"/accounts/{SHOP}/learn/trials/{shadow}"
    linked = lead.get(page).text
    opened, twice = lead.post(f"{page}/queue"), lead.post(f"{page}/queue")
    query = "SELECT count(*) FROM queue_items i JOIN queues q ON q.id = i.queue_id"
    query += " WHERE q.definition ->> 'shadow' = %s AND i.decision_id = %s"

    assert f"shadow=newly_released%3A{candidate}" in linked
    assert decision in found
    assert decision not in other
    assert decision not in elsewhere
    assert "a colon and the id of a candidate" in wrong.text
    assert (opened.status_code, twice.status_code) == (303, 409)
    assert world.one(query, str(shadow), world.decision.decision_id) == 1
