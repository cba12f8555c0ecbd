"""Statements of the inbox, settings, suggestions and reviewers return what plain statements return."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import sqlalchemy as sa

from db.answers import waiting
from db.answers.waiting import WaitingItem
from db.audit.decision_context import get_decisions
from db.audit.decisions_by_id import found_decisions
from db.audit.filters import Filters
from db.audit.sent_replies import measured_replies
from db.audit.suggestions import load_suggestions
from db.connection import Connection, compiled
from db.figures.agreement import ReviewSelection
from db.figures.reviewer_quality import reviewers_of
from db.people import records
from db.people.records import RoleGrant
from review.auth.grant_limits import visible_roles
from tests.support.review_rows import decided, store
from tests.support.review_world import World
from tests.support.reviewing import stored

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MOST = 1000
ESCALATED = """
    INSERT INTO escalations (decision_id, user_id, event_id, conversation_id, message_id, author_id, scope,
        reason_code, queue, opened_at)
    VALUES (%s, %s, %s, %s, '', '', 'chat', 'NO_ANSWER', '', %s)
"""
REVIEWED = """
    INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person_id, person, ruling, source,
        created_at)
    SELECT gen_random_uuid(), gen_random_uuid(), %s, 'quality', id, login, %s, 'page', %s
    FROM people WHERE id = %s
"""


def test_decisions_are_found_by_the_times_in_their_ids(database_url: str) -> None:
    """In the order of the ids; unknown ids and erased decisions are left out."""
    rows = [decided(NOON + timedelta(minutes=number)) for number in range(5)]
    rows[2] |= {"snapshot_json": psycopg.types.json.Jsonb({"erased": {}})}
    store(database_url, rows)
    ids = [rows[4]["id"], uuid4(), UUID(int=2**128 - 1), *(rows[number]["id"] for number in (0, 2, 1))]
    found = stored(database_url, lambda reviewer: get_decisions(reviewer, ids))

    assert [rows[number]["id"] for number in (4, 0, 1)] == [row["id"] for row in found]


def test_the_statement_does_not_grow_with_the_decisions() -> None:
    """A condition for each of a hundred ids took 5 ms to plan."""
    texts = {compiled(sa.select(found_decisions([uuid4()] * number)[0]))[0] for number in (1, 100)}

    assert len(texts) == 1


@pytest.fixture(scope="module")
def escalations(database_url: str) -> str:
    """An account with 40 escalations, several of them opened at once."""
    chance, account = random.Random(3), "waiting-40"
    with psycopg.connect(database_url) as connection:
        connection.cursor().executemany(
            ESCALATED,
            [
                (uuid4(), account, f"w{number}", f"w{number}", NOON + timedelta(minutes=chance.randrange(15)))
                for number in range(40)
            ],
        )
    return account


def listed(url: str, account: str) -> tuple[WaitingItem, ...]:
    """All that waits on the account."""
    return stored(url, lambda reviewer: waiting.list_waiting(reviewer, (account,), now=NOON, limit=MOST))


@pytest.mark.parametrize(("first", "most", "number"), [(7, MOST, 40), (50, MOST, 40), (7, 20, 20)])
def test_the_first_that_wait_are_read_with_the_number_of_all(
    database_url: str, escalations: str, first: int, most: int, number: int
) -> None:
    """The number is counted up to a limit; the rows are the first of the whole list."""
    items, counted = stored(
        database_url,
        lambda reviewer: waiting.first_waiting(reviewer, (escalations,), now=NOON, first=first, most=most),
    )

    assert number == counted
    assert listed(database_url, escalations)[:first] == items


@pytest.mark.parametrize("seed", range(4))
def test_the_next_that_waits_is_the_first_after_the_current_one(
    database_url: str, escalations: str, seed: int
) -> None:
    """Without the hidden ones; after the last one the first of all."""
    chance, known = random.Random(seed), listed(database_url, escalations)
    hidden = {each.decision_id for each in chance.sample(known, 15)}
    place = 39 if seed == 0 else chance.randrange(40)
    current = (known[place].since, known[place].decision_id)
    hidden.add(current[1])
    found, number = stored(
        database_url,
        lambda reviewer: waiting.next_waiting(
            reviewer, (escalations,), current, hidden=hidden, now=NOON, most=MOST
        ),
    )
    expected = [each for each in (*known[place:], *known) if each.decision_id not in hidden]

    assert number == 40
    assert expected[0] == found


def test_nothing_is_next_where_all_is_hidden(database_url: str, escalations: str) -> None:
    """The number of what waits is known nevertheless."""
    known = listed(database_url, escalations)
    found = stored(
        database_url,
        lambda reviewer: waiting.next_waiting(
            reviewer,
            (escalations,),
            (NOON, known[0].decision_id),
            hidden=[each.decision_id for each in known],
            now=NOON,
            most=MOST,
        ),
    )

    assert found == (None, 40)


def test_measured_replies_are_those_that_were_not_erased(database_url: str) -> None:
    """Confidence counts as measured unless the assessment says otherwise; scores are those of moderation."""
    highest = {"hate": {"score": 0.4, "threshold": 0.7}}
    stages = [{"stage": "rules", "detail": {}}, {"stage": "moderation", "detail": {"highest": highest}}]
    kept: list[dict[str, Any]] = [
        {"assessment": {"tier": "high"}},
        {"assessment": {"measured": False}, "stages": stages},
        {"erased": {"at": "2026-11-20"}},
        {"stages": stages},
    ]
    store(
        database_url,
        [
            decided(
                NOON - timedelta(minutes=number),
                user_id="measured",
                reason_code="REPLIED",
                decision="respond",
                confidence=0.5,
                kept=each,
            )
            for number, each in enumerate(kept)
        ],
    )
    rows = stored(
        database_url, lambda reviewer: measured_replies(reviewer, "measured", NOON - timedelta(hours=1), 10)
    )

    assert rows is not None
    assert [(True, None), (False, highest), (False, highest)] == [
        (row["measured"], row["scores"]) for row in rows
    ]


def test_only_topics_that_are_shown_have_decisions(database_url: str) -> None:
    """The others have their numbers."""
    rows = [
        decided(
            NOON + timedelta(seconds=number),
            user_id="illustrated",
            reason_code="NO_EVIDENCE",
            kept={"assessment": {"learning_suggestions": topics}},
        )
        for number, topics in enumerate((["parking"], ["parking", "towels"], ["wine", "Parking", "parking"]))
    ]
    store(database_url, rows)
    filters = Filters(since=NOON, user_id="illustrated")
    found = stored(database_url, lambda reviewer: load_suggestions(reviewer, filters, illustrated=1))

    assert [(each.key, each.count, len(each.decisions)) for each in found.topics] == [
        ("park", 3, 3),
        ("towel", 1, 0),
        ("win", 1, 0),
    ]


@pytest.mark.parametrize("accounts", [None, ("quality",)])
def test_a_person_with_reviews_is_listed_once(database_url: str, accounts: tuple[str, ...] | None) -> None:
    """People without reviews in the range are not."""
    with (
        World(database_url, "quality") as world,
        psycopg.connect(database_url, autocommit=True) as connection,
    ):
        busy, early, idle = (world.person(("quality", "reviewer")) for _ in range(3))
        for person_id, ruling, days in [(busy, "agree", 1), (busy, "overturn", 2), (early, "agree", 20)]:
            connection.execute(REVIEWED, (NOON, ruling, NOON - timedelta(days=days), person_id))
    selected = ReviewSelection(accounts=accounts, account=None, since=NOON - timedelta(days=7), until=NOON)
    found = stored(database_url, lambda reviewer: reviewers_of(reviewer, selected))

    assert [busy] == [person_id for person_id, _ in found if person_id in {busy, early, idle}]


def test_listed_people_have_the_roles_of_each(database_url: str) -> None:
    """Those on accounts of the administrator are visible, in the order of accounts and roles."""
    with World(database_url, "listed") as world:
        admin_id = world.person(("listed", "account_admin"))
        person_id = world.person(("listed", "viewer"), ("listed", "lead"), ("other", "viewer"))

    async def read(reviewer: Connection) -> list[tuple[RoleGrant, ...]]:
        admin = await records.get_person(reviewer, admin_id)
        assert admin is not None
        people = await records.list_people(reviewer, ("listed",))
        return [visible_roles(admin, each) for each in people if each.person_id == person_id]

    grants = [RoleGrant(user_id="listed", role=records.Role(role)) for role in ("lead", "viewer")]
    assert [tuple(grants)] == stored(database_url, read)
