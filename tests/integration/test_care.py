"""Care for people who read: rotation in queues, covers and reminders on pages."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from db.people.records import Role
from db.reviews import claims
from db.reviews.claims import Claim
from db.reviews.queues import Queue
from db.reviews.rulings import Reviewer
from review.care.breaks import READING_COOKIE
from tests.integration.test_queues import answer, queue, reader
from tests.support.audited import blocked, record
from tests.support.reviewing import Visitor, add_person, site, stored
from worker.model import Decision

NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)


def flagged(rule: str) -> Decision:
    """A decision that a rule stopped."""
    return replace(blocked(), matched_rule=rule)


def dealt(url: str, of: Queue, by: Reviewer, rotate_after: int) -> Claim:
    """The next item."""

    def take(connection: Any) -> Any:
        return claims.claim_next(
            connection, of, by, accounts=None, draw=1.0, now=NOW, rotate_after=rotate_after
        )

    claim = stored(url, take)
    assert isinstance(claim, Claim)
    return claim


@pytest.mark.parametrize(("rotate_after", "expected"), [(2, "vvfvvv"), (0, "vvvvvf")])
def test_after_some_items_of_a_category_another_comes_first(
    database_url: str, rotate_after: int, expected: str
) -> None:
    """While one waits; then the order of the queue again."""
    names = {"v": "openai_moderation:violence", "f": "flagged_keyword:refund"}
    decisions = [flagged(names[each]) for each in "vvvvvf"]
    decisions[1] = replace(decisions[1], matched_rule="openai_moderation:violence/graphic")
    record(database_url, *decisions)
    of, by = queue(database_url, holding=decisions), reader(database_url)
    order = []
    for minute in range(len(decisions)):
        claim = dealt(database_url, of, by, rotate_after)
        found = next(each for each in decisions if each.decision_id == claim.decision_id)
        order.append("f" if (found.matched_rule or "").startswith("flagged") else "v")
        answer(database_url, claim.decision_id, by, at=NOW + timedelta(minutes=minute))

    assert "".join(order) == expected


SITE = {
    "HUSHGATE_REVIEW_COVERS": "violence",
    "HUSHGATE_REVIEW_BREAK_AFTER_MIN": "45",
    "HUSHGATE_REVIEW_ROTATE_AFTER": "2",
}


def test_a_page_covers_for_the_organisation_and_reminds_of_a_break(database_url: str) -> None:
    """Until the person says otherwise; the reminder goes when it is dismissed."""
    decided = flagged("openai_moderation:violence")
    record(database_url, decided)
    path, now = f"/decisions/{decided.decision_id}", int(time.time())
    with site(database_url, **SITE) as visitors:
        guest = visitors()
        person = add_person(database_url, Role.REVIEWER)
        guest.sign_in(person)
        covered = guest.get(path).text
        _read_since(guest, now - 3_000)
        reminded = guest.get(path).text
        back = guest.post("/profile/break", back=path)
        dismissed = guest.get(path).text
        guest.get("/profile")
        wrong = guest.post("/profile", name="Ana", covers="own", break_after_min="3")
        guest.get("/profile")
        saved = guest.post("/profile", name="Ana", covers="own", break_after_min="0")
        _read_since(guest, now - 30_000)
        own = guest.get(path).text

    assert "violence" in covered
    assert decided.event.text not in covered
    assert "without a break" not in covered
    assert "You have read for 50 minutes without a break." in reminded
    assert back.headers["location"] == path
    assert "without a break" not in dismissed
    assert (wrong.status_code, saved.status_code) == (400, 303)
    assert decided.event.text in own
    assert "without a break" not in own


def _read_since(guest: Visitor, since: int) -> None:
    guest.client.cookies.delete(READING_COOKIE)
    guest.client.cookies.set(READING_COOKIE, f"{since}.{int(time.time()) - 60}.0")


def test_a_required_cover_stays(database_url: str) -> None:
    """Whatever the person chooses; the profile says so."""
    decided = flagged("flagged_keyword:refund")
    record(database_url, decided)
    needs = {"HUSHGATE_REVIEW_COVERS": "flagged_rule", "HUSHGATE_REVIEW_COVERS_REQUIRED": "true"}
    with site(database_url, **needs) as visitors:
        guest = visitors()
        guest.sign_in(add_person(database_url, Role.REVIEWER))
        guest.get("/profile")
        guest.post("/profile", name="Ana", covered="violence")
        profile = guest.get("/profile").text
        page = guest.get(f"/decisions/{decided.decision_id}").text

    assert "(required by the organisation)" in profile
    assert decided.event.text not in page


def test_a_profile_saved_without_covers_follows_the_organisation_later(database_url: str) -> None:
    """While the organisation covers nothing, an empty form is no choice."""
    decided = flagged("openai_moderation:violence")
    record(database_url, decided)
    person = add_person(database_url, Role.REVIEWER)
    with site(database_url) as visitors:
        guest = visitors()
        guest.sign_in(person)
        guest.get("/profile")
        saved = guest.post("/profile", name="Ana")
    with site(database_url, **SITE) as visitors:
        guest = visitors()
        guest.sign_in(person)
        page = guest.get(f"/decisions/{decided.decision_id}").text

    assert saved.status_code == 303
    assert decided.event.text not in page
