"""The one commit of an event and the one delivery of a reply, on real servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import cast

import psycopg
import pytest
from redis.asyncio import Redis

from db import decisions
from db.decisions import Recorded
from db.pool import Pool, pool
from tasks.deliver import Relay
from tasks.stream import connect
from worker.adapters.system_clock import SystemClock
from worker.errors import StorageUnavailable
from worker.model import Decision, Event, Scope, Verdict

NUMBERS = count(1)
REPLIES = "test:replies"
CLOCK = SystemClock()


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """The hot path's connections, four at most."""
    async with pool(database_url, size=4, application="test") as opened:
        yield opened


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    """A client of the empty server."""
    async with connect(redis_url) as client:
        yield client


def decision(*, at: datetime | None = None, reply: str | None = "a reply") -> Decision:
    """An approved reply to a new event."""
    number, decided_at = next(NUMBERS), at or CLOCK.now()
    event = Event(
        event_id=f"e{number}",
        entry_id=f"{number}-0",
        user_id="account",
        scope=Scope.CHAT,
        conversation_id="c",
        message_id=f"m{number}",
        author_id="author",
        text="hello",
        created_at=decided_at,
        received_at=decided_at,
    )
    return Decision(
        decision_id=CLOCK.new_id(decided_at),
        decided_at=decided_at,
        event=event,
        verdict=Verdict.RESPOND,
        reason_code="REPLIED",
        reason="every check passed",
        confidence=1.0,
        rules_version=1,
        reply=reply,
        remember=True,
    )


def rows(url: str, table: str, event_id: str) -> int:
    """How many rows of a table belong to an event."""
    with psycopg.connect(url) as connection:
        query = psycopg.sql.SQL("SELECT count(*) FROM {} WHERE event_id = %s")
        found = connection.execute(query.format(psycopg.sql.Identifier(table)), (event_id,)).fetchone()
    return int(found[0]) if found else 0


async def sent(redis: Redis) -> list[str]:
    """Event ids on the reply stream, in order."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(REPLIES))
    return [json.loads(fields[b"data"])["event_id"] for _, fields in entries]


def relay(source: Pool, redis: Redis) -> Relay:
    """A relay onto the test's reply stream."""
    return Relay(source, redis, stream=REPLIES, now=CLOCK.now)


async def test_a_commit_whose_answer_was_lost_may_be_repeated(source: Pool, database_url: str) -> None:
    """The same entry again changes nothing, even when another run decided differently."""
    first = decision()
    again = replace(first, decision_id=CLOCK.new_id(CLOCK.now()), reply="another reply")
    outcomes = [await decisions.record(source, each) for each in (first, first, again)]

    assert outcomes == [Recorded.NEW, Recorded.ALREADY, Recorded.ALREADY]
    assert [rows(database_url, table, first.event.event_id) for table in ("ai_decisions", "outbox")] == [1, 1]


async def test_two_runs_of_one_entry_commit_once(source: Pool, database_url: str) -> None:
    """A revived worker and its heir race; one of them wins."""
    first = decision()
    rival = replace(first, decision_id=CLOCK.new_id(CLOCK.now()))
    outcomes = await asyncio.gather(*(decisions.record(source, each) for each in (first, rival)))

    assert sorted(outcomes) == [Recorded.ALREADY, Recorded.NEW]
    assert rows(database_url, "ai_decisions", first.event.event_id) == 1


async def test_a_further_entry_of_the_same_event_is_noted_and_changes_nothing(
    source: Pool, database_url: str
) -> None:
    """One decision, one reply, and a row that says where the repetition went."""
    first = decision()
    event = replace(first.event, entry_id=f"{first.event.entry_id}1")
    repeated = replace(first, event=event, decision_id=CLOCK.new_id(CLOCK.now()))
    await decisions.record(source, first)
    outcomes = [await decisions.record(source, repeated), await decisions.already(source, event)]

    assert outcomes == [Recorded.DUPLICATE, Recorded.DUPLICATE]
    counts = [rows(database_url, table, event.event_id) for table in ("ai_decisions", "outbox", "duplicates")]
    assert counts == [1, 1, 1]


async def test_a_month_without_partition_gets_one(source: Pool, database_url: str) -> None:
    """Neither a sleeping beat nor a long outage loses a decision."""
    late = decision(at=datetime(2031, 3, 31, 23, 59, 59, 999_999, tzinfo=UTC))
    outcomes = await asyncio.gather(
        *(
            decisions.record(source, each)
            for each in (late, decision(at=late.decided_at + timedelta(days=70)))
        )
    )

    assert outcomes == [Recorded.NEW, Recorded.NEW]
    assert rows(database_url, "ai_decisions", late.event.event_id) == 1


async def test_a_right_that_is_missing_is_an_outage_and_no_fault_of_the_event(
    source: Pool, database_url: str
) -> None:
    """The event waits until the deployer mends it; it is not buried as poison."""
    waiting = decision()
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("REVOKE INSERT ON ai_decisions FROM hushgate_worker")
        try:
            with pytest.raises(StorageUnavailable, match="permission denied"):
                await decisions.record(source, waiting)
        finally:
            owner.execute("GRANT INSERT ON ai_decisions TO hushgate_worker")

    assert await decisions.record(source, waiting) is Recorded.NEW


async def test_more_callers_than_connections_only_wait(source: Pool) -> None:
    """A full pool is no outage."""
    fresh = [decision(reply=None) for _ in range(200)]
    outcomes = await asyncio.gather(*(decisions.record(source, each) for each in fresh))

    assert set(outcomes) == {Recorded.NEW}


async def test_rival_relays_send_every_reply_once_and_in_order(source: Pool, redis: Redis) -> None:
    """However many workers are nudged, one at a time delivers."""
    await relay(source, redis).drain()
    await redis.delete(REPLIES)
    expected = []
    for _ in range(30):
        approved = decision()
        expected.append(approved.event.event_id)
        await decisions.record(source, approved)
    await asyncio.gather(*(relay(source, redis).drain() for _ in range(3)))

    assert await sent(redis) == expected


async def test_a_relay_that_dies_before_it_can_say_so_sends_nothing_twice(
    source: Pool, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the stream, but not marked in Postgres: the next relay finds the mark in Redis."""
    await relay(source, redis).drain()
    await redis.delete(REPLIES)
    approved = decision()
    await decisions.record(source, approved)
    dying = relay(source, redis)
    with monkeypatch.context() as patch:
        patch.setattr(
            "db.outbox.MARK", "SELECT 1 / 0 WHERE %s::timestamptz IS NOT NULL AND %s::bigint[] IS NOT NULL"
        )
        with pytest.raises(psycopg.errors.DivisionByZero):
            await dying.deliver_batch()
    before = await sent(redis)
    await relay(source, redis).drain()

    assert before == [approved.event.event_id]
    assert await sent(redis) == before
