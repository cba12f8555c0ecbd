"""Care for reviewers: covers of the organisation, the break reminder, rotation away from a category."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from db.people.records import Person, Role
from db.reviews import claims, queues
from db.reviews.queues import NewQueue, Queue, QueueKind
from db.reviews.rulings import Reviewer
from db.reviews.streaks import streak_start
from review.care.covers import choice_of, with_covers
from review.content_covers import RULE
from tests.support.audited import NOW, blocked, escalated, ignored, record
from tests.support.reviewing import add_person, settings_at, site, stored
from worker.errors import ConfigurationError
from worker.model import Decision
from worker.settings import ReviewSettings, load

HOUR = timedelta(hours=1)
REMINDER = "without a pause"


def chosen(person: Person, settings: ReviewSettings, *categories: str) -> tuple[str, ...]:
    """What is covered for a person after they tick these categories."""
    choice = choice_of(frozenset(categories), person, settings)
    changed = Person(
        person_id=person.person_id,
        login=person.login,
        name=person.name,
        covered=choice.covered,
        uncovered=choice.uncovered,
    )
    return with_covers(changed, settings).covered


def test_covers_of_the_organisation_can_be_extended_and_reduced_only_when_allowed() -> None:
    """A person's choice is stored as a difference, so that a changed default reaches everyone."""
    person = Person(person_id=uuid7(), login="a", name="a")
    free = settings_at("postgresql://", HUSHGATE_REVIEW_COVERED="sexual, flagged_rule")
    kept = settings_at(
        "postgresql://", HUSHGATE_REVIEW_COVERED="sexual,flagged_rule", HUSHGATE_REVIEW_COVERS_KEPT="true"
    )

    assert with_covers(person, free).covered == ("sexual", RULE)
    assert chosen(person, free, "hate", RULE) == ("hate", RULE)
    assert chosen(person, free) == ()
    assert chosen(person, kept, "hate") == ("hate", "sexual", RULE)
    assert choice_of(frozenset({"sexual", "hate"}), person, free).covered == ("hate",)


def test_unknown_categories_are_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A category that no text can have would cover nothing."""
    for name, value in {"DATABASE_URL": "postgresql://", "HUSHGATE_REVIEW_COVERED": "sexuall"}.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ConfigurationError, match="sexuall"):
        load(ReviewSettings)


def test_a_profile_offers_words_of_the_account_and_keeps_what_the_organisation_keeps(
    database_url: str,
) -> None:
    """Shortcuts switched on the way leave the choice as it was."""
    kept = {"HUSHGATE_REVIEW_COVERED": "sexual", "HUSHGATE_REVIEW_COVERS_KEPT": "true"}
    with site(database_url, **kept) as visitors:
        visitor = visitors()
        person = add_person(database_url, Role.REVIEWER)
        visitor.sign_in(person)
        page = visitor.get("/profile").text
        visitor.post("/profile", name="Ann", covered=RULE)
        visitor.post("/profile/keys", keys="on")
    query = "SELECT covered, uncovered, break_reminder FROM people WHERE id = %s"
    with psycopg.connect(database_url) as connection:
        found = connection.execute(query, (person.person_id,)).fetchone()

    assert 'value="sexual" checked disabled' in page
    assert f'value="{RULE}"' in page
    assert found == ([RULE], [], False)


def reviewed(url: str, person: Person, decision: Decision, *times: datetime, source: str = "page") -> None:
    """Reviews of one person at these times."""
    with psycopg.connect(url, autocommit=True) as connection:
        for at in times:
            connection.execute(
                "INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person_id, person,"
                " ruling, source, created_at) VALUES (%s, %s, %s, 'acme', %s, 'x', 'unsure', %s, %s)",
                (uuid7(), decision.decision_id, decision.decided_at, person.person_id, source, at),
            )


@pytest.mark.parametrize(
    ("minutes", "source", "due"),
    [
        (range(0, 66, 5), "queue", True),
        (range(0, 50, 5), "queue", False),
        ((*range(0, 30, 5), *range(45, 66, 5)), "queue", False),
        (range(15, 80, 5), "queue", False),
        (range(0, 66, 5), "bulk", False),
    ],
    ids=["an hour", "less than an hour", "with a break", "not reviewing now", "in bulk"],
)
def test_a_break_is_due_after_an_hour_without_a_pause(
    database_url: str, minutes: Sequence[int], source: str, due: bool
) -> None:
    """Minutes ago of each review; a pause of ten minutes begins anew."""
    person, decision, now = add_person(database_url, Role.REVIEWER), ignored(), datetime.now(UTC)
    record(database_url, decision)
    times = [now - timedelta(minutes=each) for each in minutes]
    reviewed(database_url, person, decision, *times, source=source)
    found = stored(
        database_url,
        lambda connection: streak_start(connection, person.person_id, now=now, at_least=HOUR),
    )

    assert (found is not None) is due


def test_the_reminder_is_shown_to_its_person_alone_until_dismissed(database_url: str) -> None:
    """Another reviewer of the same decision does not see it; a profile switches it off."""
    decision, now = ignored(), datetime.now(UTC)
    record(database_url, decision)
    path = f"/decisions/{decision.decision_id}"
    with site(database_url) as visitors:
        tired, other = visitors(), visitors()
        person = add_person(database_url, Role.REVIEWER)
        reviewed(database_url, person, decision, *(now - timedelta(minutes=each) for each in range(1, 66, 4)))
        tired.sign_in(person)
        other.sign_in(add_person(database_url, Role.LEAD, Role.ACCOUNT_ADMIN))
        shown, to_other = tired.get(path).text, other.get(path).text
        back = tired.post("/profile/break", decision=str(decision.decision_id))
        dismissed = tired.get(path).text
        tired.client.cookies.delete("hushgate_break")
        again = tired.get(path).text
        tired.post("/profile", name="Ann")
        switched_off = tired.get(path).text

    assert [REMINDER in page for page in (shown, to_other, dismissed, again, switched_off)] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert back.headers["location"] == path


def queue_of(url: str, *holding: Decision) -> Queue:
    """A queue with these decisions, in this order."""

    async def change(connection: AsyncConnection) -> Queue:
        opening = NewQueue(name=f"queue {uuid7()}", kind=QueueKind.HAND)
        queue_id = await queues.create_queue(connection, opening, created_by="lead", now=NOW)
        for each in holding:
            picked = {each.decision_id: each.decided_at}
            await queues.add_decisions(connection, queue_id, picked, accounts=None, now=NOW)
        made = await queues.get_queue(connection, queue_id)
        assert made is not None
        return made

    return stored(url, change)


@pytest.mark.parametrize(("rotate_after", "other"), [(0, False), (2, True), (3, False)])
def test_after_some_items_of_a_category_another_one_is_dealt(
    database_url: str, rotate_after: int, other: bool
) -> None:
    """Two reviews of blocked decisions; the queue holds a blocked one first, then an escalated one."""
    first, second, third, escalation = blocked(), blocked(), blocked(), escalated()
    record(database_url, first, second, third, escalation)
    person = add_person(database_url, Role.REVIEWER)
    by, now = Reviewer(person_id=person.person_id, login=person.login), datetime.now(UTC)
    reviewed(database_url, person, first, now - timedelta(minutes=2))
    reviewed(database_url, person, second, now - timedelta(minutes=1))
    of = queue_of(database_url, third, escalation)
    dealt = stored(
        database_url,
        lambda connection: claims.claim_next(
            connection, of, by, accounts=None, draw=1.0, now=now, rotate_after=rotate_after
        ),
    )

    assert dealt is not None
    assert dealt.decision_id == (escalation if other else third).decision_id


def test_without_another_category_the_same_one_is_dealt(database_url: str) -> None:
    """Rotation never leaves a person without work."""
    first, second = blocked(), blocked()
    record(database_url, first, second)
    person = add_person(database_url, Role.REVIEWER)
    by, now = Reviewer(person_id=person.person_id, login=person.login), datetime.now(UTC)
    reviewed(database_url, person, first, now)
    of = queue_of(database_url, second)
    dealt = stored(
        database_url,
        lambda connection: claims.claim_next(
            connection, of, by, accounts=None, draw=1.0, now=now, rotate_after=1
        ),
    )

    assert dealt is not None
    assert dealt.decision_id == second.decision_id
