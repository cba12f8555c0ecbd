"""Statements that answer a page faster return what a plain statement over all rows returns."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from db.audit.conversation_confidence import READ_FOR_EACH, conversation_confidence
from db.audit.filters import Filters
from db.audit.suggestions import load_suggestions
from db.people import records
from db.people.records import EVERY_ACCOUNT
from tests.support.review_rows import decided, store
from tests.support.review_world import World
from tests.support.reviewing import stored

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MENTIONED = """
    SELECT count(*) FROM comment_mentions AS mention WHERE person_id = %(id)s AND seen_at IS NULL AND EXISTS (
        SELECT FROM person_roles WHERE person_id = %(id)s AND user_id IN (mention.user_id, '*'))
"""
TOPICS = """
    SELECT reason, topics FROM (
        SELECT id, created_at, reason_code AS reason,
               snapshot_json #> '{assessment,learning_suggestions}' AS topics
        FROM ai_decisions WHERE user_id = ANY(%(accounts)s) AND created_at >= %(since)s
    ) AS found
    WHERE jsonb_typeof(topics) = 'array' AND topics <> '[]' AND reason IN ('REPLIED', 'NO_EVIDENCE')
    ORDER BY created_at DESC, id DESC LIMIT %(limit)s
"""
CONFIDENCES = """
    SELECT user_id, conversation_id, max(created_at) AS latest_at, count(*) AS replies,
           avg(confidence) AS confidence,
           count(*) FILTER (WHERE snapshot_json #>> '{assessment,tier}' = 'high') AS high,
           count(*) FILTER (WHERE decision = 'escalate') AS escalated
    FROM ai_decisions
    WHERE created_at >= %(since)s AND (%(account)s::text IS NULL OR user_id = %(account)s)
          AND snapshot_json #>> '{assessment,measured}' = 'true'
    GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(limit)s
"""


def mention(connection: psycopg.Connection, person_id: Any, account: str, *, seen: bool) -> None:
    """A comment on a decision of the account that mentions the person."""
    row = connection.execute(
        "INSERT INTO decision_comments (id, decision_id, decision_at, user_id, person_id, person, text)"
        " VALUES (gen_random_uuid(), gen_random_uuid(), now(), %s, %s, 'kim', 'Look.') RETURNING id",
        (account, person_id),
    ).fetchone()
    assert row is not None
    connection.execute(
        "INSERT INTO comment_mentions (comment_id, person_id, user_id, seen_at)"
        " VALUES (%s, %s, %s, CASE WHEN %s THEN now() END)",
        (row[0], person_id, account, seen),
    )


@pytest.mark.parametrize("seed", range(3))
def test_unread_mentions_are_those_on_accounts_of_the_persons_roles(database_url: str, seed: int) -> None:
    """Several roles on an account count its mentions once; a role on every account counts all."""
    chance = random.Random(seed)
    accounts = [f"m{number}" for number in range(6)]
    roles = ["viewer", "reviewer", "lead"]
    grants = {(chance.choice(accounts), chance.choice(roles)) for _ in range(5)}
    if seed == 0:
        grants.add((EVERY_ACCOUNT, "viewer"))
    with (
        World(database_url, accounts[0]) as world,
        psycopg.connect(database_url, autocommit=True) as connection,
    ):
        person_id, other = world.person(*grants), world.person((EVERY_ACCOUNT, "lead"))
        for _ in range(30):
            account, who = chance.choice(accounts), chance.choice([person_id, person_id, other])
            mention(connection, who, account, seen=chance.random() < 0.3)
        row = connection.execute(MENTIONED, {"id": person_id}).fetchone()
    person = stored(database_url, lambda reviewer: records.get_person(reviewer, person_id))

    assert row is not None
    assert row[0] > 0
    assert person is not None
    assert row[0] == person.unread


def assessed(chance: random.Random, number: int) -> dict[str, Any]:
    """A decision at one of few moments, so that several conversations have the same newest one."""
    kept: dict[str, Any] = {"assessment": None}
    if chance.random() < 0.7:
        kept["assessment"] = {"measured": chance.random() < 0.8, "tier": chance.choice(["high", "low"])}
    return decided(
        NOON + timedelta(seconds=chance.randrange(90)),
        user_id=f"confidence-{chance.randrange(3)}",
        conversation_id=f"c{int(chance.expovariate(0.1))}",
        decision=chance.choice(["respond", "escalate"]),
        confidence=chance.randrange(9) / 8,
        kept=kept | {"number": number},
    )


@pytest.mark.parametrize("limit", [1, 7, 40, 500])
@pytest.mark.parametrize("account", [None, "confidence-1", "absent"])
def test_confidence_by_conversation_equals_grouping_all(
    database_url: str, limit: int, account: str | None
) -> None:
    """The same conversations in the same order, with the same figures, whatever the limit."""
    chance = random.Random(f"{limit} {account}")
    with psycopg.connect(database_url, autocommit=True) as connection:
        store(database_url, [assessed(chance, number) for number in range(100)])
        since = NOON + timedelta(seconds=20)
        values = {"since": since, "account": account, "limit": limit}
        cursor = connection.cursor(row_factory=dict_row)
        expected = cursor.execute(CONFIDENCES, values).fetchall()
    filters = Filters(since=since, user_id=account)
    rows = stored(database_url, lambda reviewer: conversation_confidence(reviewer, filters, limit=limit))

    assert bool(expected) is (account != "absent")
    assert expected == [{name: row[name] for name in expected[0]} for row in rows]


def with_topics(chance: random.Random) -> dict[str, Any]:
    """A decision with topics, without, or with something else in their place."""
    topics = chance.choice([None, [], "none", *([chance.choices("abcd", k=2)] * 6)])
    place = chance.choice(["learning_suggestions", "diagnostics"])
    kept = {place: topics if place == "learning_suggestions" else {"learning_suggestions": topics}}
    return decided(
        NOON + timedelta(seconds=chance.randrange(90)),
        user_id=f"topics-{chance.randrange(3)}",
        reason_code=chance.choice(["REPLIED", "NO_EVIDENCE", "AI_DISABLED"]),
        kept={"assessment": kept},
    )


@pytest.mark.parametrize("most", [1, 10, 1000])
@pytest.mark.parametrize("accounts", [("topics-1",), ("topics-0", "topics-2")])
def test_suggestions_are_of_the_newest_decisions_with_topics(
    database_url: str, most: int, accounts: tuple[str, ...]
) -> None:
    """The same decisions are read as by a plain statement, of one account and of several."""
    chance = random.Random(f"{most} {accounts}")
    with psycopg.connect(database_url, autocommit=True) as connection:
        store(database_url, [with_topics(chance) for _ in range(150)])
        since = NOON + timedelta(seconds=20)
        values = {"since": since, "accounts": list(accounts), "limit": most + 1}
        found = connection.execute(TOPICS, values).fetchall()
    filters = Filters(since=since, accounts=accounts)
    suggestions = stored(database_url, lambda reviewer: load_suggestions(reviewer, filters, most=most))

    expected = Counter(topic for _, topics in found[:most] for topic in set(topics))
    assert len(found[:most]) == suggestions.decisions
    assert (len(found) <= most) is suggestions.complete
    assert expected == {each.topic: each.count for each in suggestions.topics}


def test_confidence_by_conversation_when_the_newest_decisions_are_of_one(database_url: str) -> None:
    """More than are read for the conversations that are asked for: the others are found nevertheless."""
    chance = random.Random(1)
    loud = [
        decided(
            NOON + timedelta(seconds=100 + number),
            user_id="confidence-loud",
            conversation_id="loud",
            kept={"assessment": {"measured": True, "tier": "high"}, "number": number},
        )
        for number in range(3 * READ_FOR_EACH)
    ]
    with psycopg.connect(database_url, autocommit=True) as connection:
        store(
            database_url,
            [*loud, *(assessed(chance, number) | {"user_id": "confidence-loud"} for number in range(50))],
        )
        values = {"since": NOON, "account": "confidence-loud", "limit": 2}
        expected = connection.cursor(row_factory=dict_row).execute(CONFIDENCES, values).fetchall()
    filters = Filters(since=NOON, user_id="confidence-loud")
    rows = stored(database_url, lambda reviewer: conversation_confidence(reviewer, filters, limit=2))

    assert [row["conversation_id"] for row in rows][:1] == ["loud"]
    assert len(rows) == 2
    assert expected == [{name: row[name] for name in expected[0]} for row in rows]
