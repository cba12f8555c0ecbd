"""The one commit of an event and the one delivery of a reply, on real servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import cast
from urllib.parse import urlsplit

import psycopg
import pytest
from redis.asyncio import Redis

from db import outbox
from db.commits.record import record_decision
from db.commits.stored_event import Recorded, look_up_event
from db.outbox import WaitingReply
from db.pool import Pool, create_pool
from db.reviews import remedies
from tasks.sending import once_stream
from tasks.sending.relay import BATCH, Relay
from tasks.sending.replies import REPLY_ROWS
from tasks.shards.clients import connect
from tests.support.decided import CLOCK, new_event, reply_to
from tests.support.relays import none_sent
from worker.errors import StorageUnavailable
from worker.model import (
    Decision,
    Source,
)

REPLIES = "test:replies"


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """The hot path's connections, four at most."""
    async with create_pool(database_url, size=4, application="test") as opened:
        yield opened


def decision(*, at: datetime | None = None, reply: str | None = "a reply") -> Decision:
    """An approved reply to a new event."""
    return reply_to(new_event(at=at, user_id="account", conversation_id="c"), at, reply=reply)


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


def relay(source: Pool, redis: Redis) -> Relay[WaitingReply]:
    """A relay onto the test's reply stream."""
    return Relay(REPLY_ROWS, source, redis, stream=REPLIES, now=CLOCK.now)


async def test_a_commit_whose_answer_was_lost_may_be_repeated(source: Pool, database_url: str) -> None:
    """The same entry again changes nothing, even when another run decided differently."""
    first = decision()
    again = replace(first, decision_id=CLOCK.new_id(CLOCK.now()), reply="another reply")
    outcomes = [await record_decision(source, each) for each in (first, first, again)]

    assert outcomes == [Recorded.NEW, Recorded.ALREADY, Recorded.ALREADY]
    assert [rows(database_url, table, first.event.event_id) for table in ("ai_decisions", "outbox")] == [1, 1]


async def test_two_runs_of_one_entry_commit_once(source: Pool, database_url: str) -> None:
    """A revived worker and its heir race; one of them wins."""
    first = decision()
    rival = replace(first, decision_id=CLOCK.new_id(CLOCK.now()))
    outcomes = await asyncio.gather(*(record_decision(source, each) for each in (first, rival)))

    assert sorted(outcomes) == [Recorded.ALREADY, Recorded.NEW]
    assert rows(database_url, "ai_decisions", first.event.event_id) == 1


@pytest.mark.parametrize(("year", "with_people"), [(2031, False), (2033, True)])
async def test_a_month_without_partition_gets_one(
    source: Pool, database_url: str, year: int, with_people: bool
) -> None:
    """Neither a beat that stands still nor a long outage loses a decision, also with a takeover."""
    at = datetime(year, 3, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    found = decision(at=at, reply=None)
    late = replace(
        found,
        event=replace(found.event, conversation_id="late"),
        people_until=at + timedelta(hours=1) if with_people else None,
    )

    assert await record_decision(source, late) is Recorded.NEW
    assert rows(database_url, "ai_decisions", late.event.event_id) == 1


async def test_a_commit_that_stores_nothing_without_a_reason_is_an_error(
    source: Pool, database_url: str
) -> None:
    """An event may not look decided while nothing is stored of it."""
    waiting = decision(reply=None)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(
            "CREATE FUNCTION refuse_key() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
        )
        owner.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON event_keys FOR EACH ROW EXECUTE FUNCTION refuse_key()"
        )
        try:
            with pytest.raises(RuntimeError, match="stored nothing and the event has no outcome"):
                await record_decision(source, waiting)
        finally:
            owner.execute("DROP FUNCTION refuse_key CASCADE")

    assert await record_decision(source, waiting) is Recorded.NEW


async def test_a_further_entry_of_the_same_event_is_noted_and_changes_nothing(
    source: Pool, database_url: str
) -> None:
    """One decision, one reply, and a row that says where the repetition went."""
    first = decision()
    event = replace(first.event, entry_id=f"{first.event.entry_id}1")
    repeated = replace(first, event=event, decision_id=CLOCK.new_id(CLOCK.now()))
    await record_decision(source, first)
    outcomes = [
        await record_decision(source, repeated),
        (await look_up_event(source, event, event.received_at)).outcome,
    ]

    assert outcomes == [Recorded.DUPLICATE, Recorded.DUPLICATE]
    counts = [rows(database_url, table, event.event_id) for table in ("ai_decisions", "outbox", "duplicates")]
    assert counts == [1, 1, 1]


async def test_the_audit_has_the_first_500_characters_of_a_message(source: Pool, database_url: str) -> None:
    """Silent Guardrails: a longer text is cut, in code points and not in bytes."""
    first = decision()
    text = "\N{PERSON WITH FOLDED HANDS}" * 499 + "ab"
    await record_decision(source, replace(first, event=replace(first.event, text=text)))
    with psycopg.connect(database_url) as connection:
        query = "SELECT message_text FROM ai_decisions WHERE id = %s"
        found = connection.execute(query, (first.decision_id,)).fetchone()

    assert found == (text[:500],)


async def test_a_right_that_is_missing_is_an_outage_and_no_fault_of_the_event(
    source: Pool, database_url: str
) -> None:
    """The event waits until the deployer repairs it; it is not buried as poison."""
    waiting = decision()
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("REVOKE INSERT ON ai_decisions FROM hushgate_worker")
        try:
            with pytest.raises(StorageUnavailable, match="permission denied"):
                await record_decision(source, waiting)
        finally:
            owner.execute("GRANT INSERT ON ai_decisions TO hushgate_worker")

    assert await record_decision(source, waiting) is Recorded.NEW


async def test_more_callers_than_connections_only_wait(source: Pool) -> None:
    """A full pool is no outage."""
    fresh = [decision(reply=None) for _ in range(200)]
    outcomes = await asyncio.gather(*(record_decision(source, each) for each in fresh))

    assert set(outcomes) == {Recorded.NEW}


async def test_rival_relays_send_every_reply_once_and_in_order(source: Pool, redis: Redis) -> None:
    """However many workers are nudged, one at a time delivers."""
    await relay(source, redis).send_all()
    await redis.delete(REPLIES)
    expected = []
    for _ in range(30):
        approved = decision()
        expected.append(approved.event.event_id)
        await record_decision(source, approved)
    await asyncio.gather(*(relay(source, redis).send_all() for _ in range(3)))

    assert await sent(redis) == expected


async def test_a_relay_that_dies_before_it_can_say_so_sends_nothing_twice(
    source: Pool, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the stream, but not marked in Postgres: the next relay finds the mark in Redis."""
    await relay(source, redis).send_all()
    await redis.delete(REPLIES)
    approved = decision()
    await record_decision(source, approved)
    dying = relay(source, redis)
    with monkeypatch.context() as patch:
        patch.setattr(
            "db.outbox.SET_DELIVERED",
            "SELECT 1 / 0 WHERE %s::timestamptz IS NOT NULL AND %s::bigint[] IS NOT NULL",
        )
        with pytest.raises(psycopg.errors.DivisionByZero):
            await dying.deliver_batch()
    before = await sent(redis)
    await relay(source, redis).send_all()

    assert before == [approved.event.event_id]
    assert await sent(redis) == before


async def test_a_reply_goes_out_with_its_sources(source: Pool, redis: Redis) -> None:
    """The stream's readers get the text without marks and the passages that it rests on."""
    cited = Source(number=2, passage_id="7#3", title="Opening hours")
    marked = replace(decision(reply="At nine."), draft="At nine [2].", sources=(cited,))
    await record_decision(source, marked)
    await relay(source, redis).send_all()
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(REPLIES))
    bodies = [json.loads(fields[b"data"]) for _, fields in entries]
    mine = [each for each in bodies if each["event_id"] == marked.event.event_id]

    assert [(each["text"], each["sources"]) for each in mine] == [
        (
            "At nine.",
            [{"number": 2, "document_id": "7", "passage_id": "7#3", "title": "Opening hours"}],
        )
    ]


async def test_a_reply_that_waited_too_long_is_held_back(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """It is never sent, and the next prompt does not claim that it was given."""
    late = replace(decision(), send_before=CLOCK.now() - timedelta(seconds=1))
    fresh = replace(decision(), send_before=CLOCK.now() + timedelta(hours=1))
    for each in (late, fresh):
        await record_decision(source, each)
    await relay(source, redis).send_all()
    lines = "SELECT role FROM messages WHERE decision_id = %s ORDER BY id"
    with psycopg.connect(database_url) as connection:
        left = [row[0] for row in connection.execute(lines, (late.decision_id,))]

    assert fresh.event.event_id in await sent(redis)
    assert late.event.event_id not in await sent(redis)
    assert left == ["user"]


async def test_replies_held_back_leave_no_later_one_waiting(
    source: Pool, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay reads the oldest rows; when it settles some of them, it reads on, without a pause."""
    monkeypatch.setattr("tasks.sending.relay.SHORT_PAUSE_S", 3600.0)
    late = CLOCK.now() - timedelta(seconds=1)
    approved = [replace(decision(), send_before=late if number < 3 else None) for number in range(BATCH + 2)]
    await asyncio.gather(*(record_decision(source, each) for each in approved))
    async with asyncio.timeout(60):
        await relay(source, redis).send_all()
    found = set(await sent(redis))

    assert [each.event.event_id in found for each in approved] == [False] * 3 + [True] * (BATCH - 1)


@dataclass(kw_only=True)
class Freezer:
    """Stands between a client and Redis; from a request that contains ``at`` on it passes nothing on."""

    at: bytes = b""
    frozen: asyncio.Event = field(default_factory=asyncio.Event)
    thawed: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, url: str) -> None:
        """Pass requests and replies of one connection on."""
        place = urlsplit(url)
        to_server = await asyncio.open_connection(place.hostname, place.port)
        both = (self._requests(reader, to_server[1]), self._replies(to_server[0], writer))
        try:
            await asyncio.gather(*both)
        finally:
            writer.close()
            to_server[1].close()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while body := await reader.read(65_536):
            if self.at and self.at in body:
                self.frozen.set()
                await self.thawed.wait()
            writer.write(body)
        writer.close()

    async def _replies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while body := await reader.read(65_536):
            writer.write(body)


@asynccontextmanager
async def freezer(url: str) -> AsyncIterator[tuple[Freezer, Redis]]:
    """A client that waits as long as it takes, behind a freezer; as a stopped process its call never ends."""
    freezing = Freezer()
    server = await asyncio.start_server(
        lambda reader, writer: freezing.serve(reader, writer, url), "127.0.0.1", 0
    )
    async with server:
        port = server.sockets[0].getsockname()[1]
        place = urlsplit(url)
        behind = place._replace(netloc=f"{place.username}:{place.password}@127.0.0.1:{port}").geturl()
        async with connect(behind, timeout_s=None) as client:
            yield freezing, client
        freezing.thawed.set()


@pytest.mark.parametrize("marks", ["there", "expired"])
async def test_a_frozen_relay_stops_no_other_and_sends_nothing_when_it_wakes_up(
    source: Pool, redis: Redis, redis_url: str, marks: str
) -> None:
    """Its right to send ends while it is frozen, however long the others' marks have been gone by then."""
    await relay(source, redis).send_all()
    await redis.delete(REPLIES)
    first, second = decision(), decision()
    await record_decision(source, first)
    async with freezer(redis_url) as (freezing, behind):
        freezing.at = str(first.decision_id).encode()
        frozen = asyncio.create_task(relay(source, behind).deliver_batch())
        await freezing.frozen.wait()
        await record_decision(source, second)
        async with asyncio.timeout(outbox.HOLD_S + 10):  # two seconds, and the rest for a busy machine
            await relay(source, redis).send_all()
        expected = [first.event.event_id, second.event.event_id]
        assert await sent(redis) == expected
        if marks == "expired":
            await redis.delete(*[key async for key in redis.scan_iter(f"{{{REPLIES}}}:sent:*")])
        freezing.thawed.set()
        await asyncio.gather(frozen, return_exceptions=True)

    assert await sent(redis) == expected


async def test_the_right_to_send_ends_with_the_last_reply(
    source: Pool, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before it: a batch is sent in several calls."""
    monkeypatch.setattr(once_stream, "BATCH", 2)
    stream = once_stream.OnceStream(redis, REPLIES)
    entries = [once_stream.OutgoingEntry(mark=f"m{number}", key="k", body={}) for number in range(3)]
    async with stream.lease() as lease:
        assert lease is not None
        counts = [await lease.put(entries), await redis.exists(stream.lease_key)]
        async with stream.lease() as second:
            assert second is not None

    assert counts == [3, 0]
    assert await redis.xlen(REPLIES) == 3


async def test_a_relay_that_looks_while_another_one_acts_changes_nothing(
    source: Pool, database_url: str
) -> None:
    """It looks and locks in one round trip: without the lock it must cancel and read nothing."""
    late = replace(decision(), send_before=CLOCK.now() - timedelta(seconds=1))
    await record_decision(source, late)
    query = "SELECT cancelled_at IS NOT NULL FROM outbox WHERE decision_id = %s"
    async with outbox.waiting_replies(source, 200, CLOCK.now() - timedelta(days=1), none_sent) as first:
        async with outbox.waiting_replies(source, 200, CLOCK.now(), none_sent) as second:
            assert second is None
        with psycopg.connect(database_url) as connection:
            while_first_acts = connection.execute(query, (late.decision_id,)).fetchone()
        assert first is not None
        assert late.decision_id in [row.decision_id for row in first.rows]
    async with outbox.waiting_replies(source, 200, CLOCK.now(), none_sent) as alone:
        assert alone is not None
        assert late.decision_id not in [row.decision_id for row in alone.rows]

    assert while_first_acts == (False,)


async def test_a_relay_that_lost_its_right_to_send_leaves_its_replies_to_the_next(
    source: Pool, redis: Redis
) -> None:
    """Nothing is sent, and nothing is marked as delivered."""
    stream = once_stream.OnceStream(redis, REPLIES)
    async with stream.lease() as lease:
        assert lease is not None
        await redis.delete(stream.lease_key)
        entry = once_stream.OutgoingEntry(mark="m", key="k", body={})

        assert await lease.put([entry, entry]) == 0
    assert await redis.xlen(REPLIES) == 0


async def test_a_review_server_that_freezes_while_it_holds_the_relays_does_not_stop_them(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """Its transaction is ended, and with it its lock."""
    await relay(source, redis).send_all()
    await redis.delete(REPLIES)
    approved = decision()
    await record_decision(source, approved)
    with closing(psycopg.connect(database_url)) as frozen:
        frozen.execute(str(remedies.BLOCK_RELAYS).encode())
        async with asyncio.timeout(outbox.HOLD_S + 10):
            await relay(source, redis).send_all()

    assert await sent(redis) == [approved.event.event_id]


def test_the_right_to_send_ends_before_the_lock() -> None:
    """Else a frozen relay could send after a reviewer, who waits for the lock, took the reply back."""
    assert once_stream.LEASE_S < outbox.HOLD_S
