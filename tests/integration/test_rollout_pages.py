"""Pages of rollouts: a lead starts one from a form, reads its result, and takes each step with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from selectolax.lexbor import LexborHTMLParser

from db.people.records import Role
from tasks.webhooks.bodies import RolloutReturnedEntry
from tests.support.review_world import World
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in, stored
from trials.store.trials import fleet_figures
from worker.running_rollouts import place_of

NUMBERS = count(1)
WORDS = {"reason": "fewer wrong blocks"}
Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    """A new account with settings."""
    account = f"rollout-shop-{next(NUMBERS)}"
    with World(database_url, account) as made:
        made.add("ai_rules", user_id=account, version=1)
        yield made


@pytest.fixture
def lead(database_url: str, visitors: Visitors, world: World) -> Visitor:
    """A lead of the account."""
    return signed_in(visitors, add_person(database_url, Role.LEAD, account=world.account))


@pytest.fixture
def rows(database_url: str) -> Iterator[Rows]:
    """Rows of the database."""
    with psycopg.connect(database_url, row_factory=dict_row, autocommit=True) as database:
        yield lambda query, *values: database.execute(query, values).fetchall()


def candidate(world: World) -> UUID:
    """Settings that are not in force."""
    return world.of_account(
        "candidates", base_version=1,
        changes=Jsonb({"prompt": "Be brief."}), note="a shorter prompt", source="person", created_by="kim",
    )  # fmt: skip


def form(page: str) -> dict[str, str]:
    """The values of the form that starts a rollout."""
    parsed = LexborHTMLParser(page)
    found = {
        str(each.attributes["name"]): each.attributes.get("value") or ""
        for each in parsed.css("main form.card input[name]")
    }
    for each in parsed.css("main form.card select"):
        chosen = each.css_first("option[selected]") or each.css_first("option")
        assert chosen is not None
        found[str(each.attributes["name"])] = chosen.attributes.get("value") or ""
    found.pop("csrf", None)
    return found


def words_of(page: str) -> str:
    """The text of a page, with single spaces."""
    return " ".join(LexborHTMLParser(page).text(separator=" ").split())


def started(lead: Visitor, world: World, **changed: str) -> str:
    """The address of a rollout that the lead started."""
    address = f"/accounts/{world.account}/learn/candidates/{candidate(world)}/rollout"
    answer = lead.post(address, **form(lead.get(address).text) | WORDS | changed)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"]).partition("?")[0]


def decided(world: World, rollout: dict[str, Any], number: int, *, tried: bool, reason: str) -> UUID:
    """A decision of one arm, in a conversation that the rollout's hash gives it."""
    numbers = (each for each in range(100_000) if each % 1000 == number)
    wanted = next(
        f"c{each}" for each in numbers
        if (place_of(rollout["id"], f"c{each}") < rollout["share"] * 10_000) is tried
    )  # fmt: skip
    made_at = rollout["stepped_at"] + timedelta(microseconds=1 + number)
    values = {
        "user_id": world.account, "event_id": f"e{number}{tried}", "scope": "chat",
        "conversation_id": wanted, "message_id": f"m{number}", "author_id": "a", "message_text": "hello",
        "decision": "ignore", "reason": "a rule", "reason_code": reason, "confidence": 1.0, "degraded": False,
        "created_at": made_at, "candidate_id": rollout["candidate_id"] if tried else None,
        "snapshot_json": Jsonb({"received_at": made_at.isoformat()}),
    }  # fmt: skip
    return world.made("ai_decisions", **values)


def endpoint(world: World) -> None:
    """A webhook for rollouts that are returned."""
    world.of_account(
        "webhook_endpoints", url="https://example.com/hooks",
        types=["rollout.returned"], secret="whsec_none", secret_hint="whsec_…", created_by="kim",
    )  # fmt: skip


def returned_accounts(url: str) -> set[str]:
    """The accounts that an alert names."""
    return set(stored(url, fleet_figures)["rollouts_returned"])


def reviewed(world: World, decision_id: UUID, at: datetime, ruling: str, chance: float | None) -> None:
    """A review from a sample, with the chance of being drawn; None: the reviewer chose the decision."""
    about = {"decision_id": decision_id, "decision_at": at, "user_id": world.account}
    item = None
    if chance is not None:
        sample = {"name": f"sample {next(NUMBERS)}", "definition": Jsonb({"share": chance})}
        queue = world.made("queues", kind="sample", closed_at=at, **sample)
        item = world.numbered("queue_items", queue_id=queue, chance=chance, **about)
    review = world.made(
        "decision_reviews", person_id=world.person(), person="kim", ruling=ruling, source="page",
        note="", item_id=item, **about,
    )  # fmt: skip
    world.add("review_states", state=ruling, reviews=1, last_review=review, **about)


def test_a_lead_takes_every_step_with_a_reason(lead: Visitor, world: World, rows: Rows) -> None:
    """Start, share and finish are stored with the lead's login; the last one is a version of the settings."""
    page = started(lead, world, share="2,5", metric="escalations")
    shown = lead.get(page).text
    unexplained = lead.post(f"{page}/share", share="40", reason=" ")
    stepped = lead.post(f"{page}/share", share="40", reason="no bound is near")
    finished = lead.post(f"{page}/finish", reason="it is better")
    again = lead.post(f"{page}/return", reason="too late")
    steps = rows(
        "SELECT s.kind, s.share, s.reason, s.version, s.figures IS NULL AS first, t.state, t.plan"
        " FROM trial_steps s JOIN trials t ON t.id = s.trial_id WHERE t.user_id = %s ORDER BY s.id",
        world.account,
    )
    prompt = rows("SELECT prompt FROM ai_rules WHERE user_id = %s AND version = 2", world.account)
    logged = rows(
        "SELECT detail ->> 'step' AS step FROM access_log WHERE user_id = %s AND detail ? 'rollout'"
        " AND action = 'settings' AND person_id IS NOT NULL ORDER BY id",
        world.account,
    )

    assert [each.status_code for each in (unexplained, stepped, finished, again)] == [422, 303, 303, 409]
    assert [(each["kind"], each["share"], each["reason"], each["version"]) for each in steps] == [
        ("start", 0.025, "fewer wrong blocks", None),
        ("share", 0.4, "no bound is near", None),
        ("finish", 1.0, "it is better", 2),
    ]
    assert [each["first"] for each in steps] == [True, False, False]
    assert (steps[0]["state"], steps[0]["plan"]["metric"]) == ("finished", "escalations")
    assert steps[0]["plan"]["bounds"] == [
        "overturns<=+0.05", "escalations<=+0.05", "blocks<=+0.05", "latency<=x1.5", "cost<=x1.5",
    ]  # fmt: skip
    assert prompt == [{"prompt": "Be brief."}]
    assert [each["step"] for each in logged] == ["start", "share", "finish"]
    assert "Too few conversations" in shown
    assert "at most 5 percentage points above the settings in force" in shown


def test_a_viewer_reads_and_takes_no_step(
    database_url: str, visitors: Visitors, lead: Visitor, world: World
) -> None:
    """The page has no forms."""
    page = started(lead, world)
    viewer = signed_in(visitors, add_person(database_url, Role.VIEWER, account=world.account))
    shown = viewer.get(page)

    assert ("Next step" in lead.get(page).text, "Next step" in shown.text) == (True, False)
    assert (shown.status_code, viewer.post(f"{page}/return", reason="no").status_code) == (200, 403)


def test_a_form_that_cannot_be_used_says_why(lead: Visitor, world: World) -> None:
    """Each wrong field, a second rollout, a withdrawn candidate and one of other settings."""
    first = candidate(world)
    address = f"/accounts/{world.account}/learn/candidates/{first}/rollout"
    values = form(lead.get(f"{address}?preset=careful").text)
    wrong = lead.post(address, **values | WORDS | {"share": "101", "limit_blocks": "much", "least": "0"})
    nothing = lead.post(address, **WORDS | {"share": "5", "least": "50", "planned": "99", "metric": "cost"})
    assert lead.post(address, **values | WORDS).status_code == 303
    second = lead.post(address, **values | WORDS)
    running = lead.get(address).text
    world.one("WITH x AS (UPDATE trials SET state = 'returned' RETURNING 1) SELECT count(*) FROM x")
    world.add("ai_rules", user_id=world.account, version=2)
    moved = lead.get(address).text
    other = lead.get(f"/accounts/elsewhere/learn/candidates/{first}/rollout")

    assert (wrong.status_code, nothing.status_code, second.status_code) == (422, 422, 409)
    assert "Write a number from 0.1 to 100." in wrong.text
    assert 'id="limit_blocks-problem"' in wrong.text
    assert 'id="least-problem"' in wrong.text
    assert "Declare at least one bound." in nothing.text
    assert "A rollout of this account is running." in running
    assert "Start the rollout" not in running
    assert "made from version 1 of the settings, and version 2 is in force" in moved
    assert other.status_code == 404


def test_the_result_is_in_plain_words_and_a_broken_bound_returns(
    lead: Visitor, world: World, rows: Rows, database_url: str
) -> None:
    """A candidate that blocks everything is worse at a glance, and a step returns it instead."""
    page = started(lead, world, share="50", metric="blocks")
    (rollout,) = rows("SELECT * FROM trials WHERE user_id = %s", world.account)
    endpoint(world)
    for number in range(110):
        decided(world, rollout, number, tried=True, reason="FLAGGED_RULE")
        decided(world, rollout, number, tried=False, reason="REPLIED")
    shown = words_of(lead.get(page).text)
    step = lead.post(f"{page}/share", share="100", reason="faster")
    after = " ".join(
        LexborHTMLParser(lead.get(str(step.headers["location"])).text).text(separator=" ").split()
    )

    assert "Decided: higher with the candidate" in shown
    assert "100 % with the candidate, 0.0 % with the settings in force." in shown
    assert "return to the settings in force" in shown
    assert "points with a certainty of 95 %" in shown
    assert step.status_code == 303
    assert "was returned instead of the step" in after
    assert "automatically" in after
    assert "Decided: higher with the candidate" in after
    assert "Next step" not in after
    assert returned_accounts(database_url) == {world.account}
    (event,) = rows("SELECT type, body FROM outgoing_events WHERE user_id = %s", world.account)
    entry = RolloutReturnedEntry.model_validate(event["body"])
    assert (event["type"], entry.rollout_id) == ("rollout.returned", str(rollout["id"]))
    assert "blocks<=+0.05" in entry.reason


def test_overturned_decisions_weigh_the_inverse_of_their_chance(
    lead: Visitor, world: World, rows: Rows
) -> None:
    """One overturn drawn with 1 of 10 beside ten certain agreements is a half; others are left out."""
    page = started(lead, world, share="50")
    (rollout,) = rows("SELECT * FROM trials WHERE user_id = %s", world.account)
    for number in range(12):
        made = decided(world, rollout, number, tried=True, reason="REPLIED")
        at = rollout["stepped_at"] + timedelta(microseconds=1 + number)
        ruling = "overturn" if number in (0, 11) else "agree"
        reviewed(world, made, at, ruling, {0: 0.1, 11: None}.get(number, 1.0))
    (read,) = rows(
        "SELECT hushgate_rollout_figures(%s, %s, '{}', '{}') -> 'candidate' AS arm",
        rollout["id"],
        datetime.now(UTC) + timedelta(minutes=1),
    )
    arm, found = read["arm"], read["arm"]["measures"]["overturns"]

    assert (found["hits"], found["size"], arm["left_out"]) == (10.0, 20.0, 1)
    assert found["counted"] == pytest.approx(20**2 / (10**2 + 10))
    assert "1 review is left out" in lead.get(page).text


def test_the_list_names_trials_beside_many_evaluations(lead: Visitor, world: World) -> None:
    """Evaluations are on the page of their golden set, and take no place in the list."""
    page = started(lead, world)
    golden = world.of_account("golden_sets", name="a set", created_by="kim")
    for _ in range(20):
        world.of_account(
            "trials", kind="evaluation", state="finished", base_version=1,
            changes=Jsonb({}), set_id=golden, arms=Jsonb([]),
        )  # fmt: skip

    assert page in lead.get(f"/accounts/{world.account}/learn").text
