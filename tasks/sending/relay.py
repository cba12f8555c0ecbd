"""Delivery: outbox rows to the reply stream, each once. Nothing else sends to users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db import outbox
from db.connection import Connection
from db.health.database_clock import DatabaseClock
from db.outbox import WaitingReply, WereSent
from db.outgoing.events import OutgoingEvent
from db.outgoing.locked_batch import LockedBatch
from db.pool import Pool
from db.reviews.retractions import Retraction
from db.webhooks import subscriptions
from db.webhooks.subscriptions import WebhookEvent
from tasks.sending.once_stream import Lease, OnceStream, Outgoing
from tasks.sending.outgoing import REPLY, ReplyEntry
from worker.adapters.boot_clock import seconds_since_boot
from worker.errors import StorageUnavailable, StreamFull
from worker.model import Scope
from worker.webhooks.types import WebhookType

log = structlog.get_logger(__name__)

Row = TypeVar("Row", WaitingReply, Retraction, OutgoingEvent)
BATCH: Final = 200
LOOK_S: Final = 2.0
SHORT_PAUSE_S: Final = 0.1
LONG_PAUSE_S: Final = 2.0


class Relay:
    """Puts waiting replies on the reply stream, one relay at a time over the whole fleet.

    A batch is read and sent under a lease in Redis, which ends before the lock in Postgres. A relay that was
    frozen therefore sends nothing late, and nothing is sent while a reviewer holds the lock.

    Args:
        refresh: awaited before each batch, for a ``now`` that must be read first.
        delivered: called with the number of replies of each batch.
    """

    def __init__(
        self,
        pool: Pool,
        redis: Redis,
        *,
        stream: str,
        now: Callable[[], datetime],
        refresh: Callable[[], Awaitable[None]] | None = None,
        delivered: Callable[[int], None] | None = None,
        signing_key: bytes | None = None,
    ) -> None:
        self._pool = pool
        self._delivered = delivered
        self._stream = OnceStream(redis, stream, signing_key)
        self._now = now
        self._refresh = refresh
        self._asked = asyncio.Event()

    def nudge(self) -> None:
        """Signal that a reply waits."""
        self._asked.set()

    async def run(self) -> None:
        """Deliver when nudged, and every ``LOOK_S``: a person's answer nudges no worker. Until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._asked.wait()
            self._asked.clear()
            await self.drain()

    async def drain(self) -> int:
        """Deliver until nothing waits, with retries during an outage; how many replies were sent."""
        total = 0
        while True:
            try:
                sent = await self.deliver_batch()
            except (StorageUnavailable, StreamFull, RedisError, OSError) as error:
                log.warning("delivery_postponed", error=type(error).__name__)
                await asyncio.sleep(LONG_PAUSE_S)
                continue
            if sent is None:
                await asyncio.sleep(SHORT_PAUSE_S)
                continue
            total += sent
            if sent < BATCH:  # a later commit nudges again
                return total

    async def deliver_batch(self) -> int | None:
        """Deliver up to ``BATCH`` replies; how many, None while another relay delivers."""
        if self._refresh is not None:
            await self._refresh()
        sent, complete = await send_waiting(
            self._stream, self._waiting, _outgoing, self._now, webhook=WebhookType.REPLY_CREATED
        )
        for reply in sent:
            log.info("reply_delivered", event_id=reply.event_id, decision_id=str(reply.decision_id))
        if self._delivered is not None:
            self._delivered(len(sent))
        return len(sent) if complete else None

    def _waiting(self, lease: Lease) -> AbstractAsyncContextManager[LockedBatch[WaitingReply] | None]:
        return outbox.waiting_replies(self._pool, BATCH, self._now(), _were_sent(lease))


def fleet_relay(
    pool: Pool,
    redis: Redis,
    *,
    stream: str,
    delivered: Callable[[int], None] | None = None,
    signing_key: bytes | None = None,
) -> Relay:
    """The relay of a worker, on the clock of Postgres.

    With the clock of its machine, a worker whose clock is fast would hold back other workers' replies as too
    late, and one whose clock is slow would send them too late.
    """
    clock = DatabaseClock(pool, seconds=seconds_since_boot)
    return Relay(
        pool,
        redis,
        stream=stream,
        now=clock.now,
        refresh=clock.refresh,
        delivered=delivered,
        signing_key=signing_key,
    )


def _were_sent(lease: Lease) -> WereSent:
    async def sent(decisions: Sequence[UUID]) -> frozenset[UUID] | None:
        found = await lease.sent([str(decision_id) for decision_id in decisions])
        return None if found is None else frozenset(map(UUID, found))

    return sent


async def mark_sent(
    pool: Pool,
    redis: Redis,
    *,
    stream: str,
    now: datetime,
    decisions: Sequence[UUID],
    recorded: Callable[[Connection, UUID], Awaitable[None]],
) -> frozenset[UUID]:
    """Record the replies of these decisions that are on the stream as delivered, and send none.

    Returns the decisions whose replies were recorded: none while another relay acts. ``recorded`` is called
    with each of them in the same transaction.
    """
    marked: set[UUID] = set()

    @asynccontextmanager
    async def named(lease: Lease) -> AsyncIterator[LockedBatch[WaitingReply] | None]:
        async with outbox.record_sent(pool, decisions, now, _were_sent(lease)) as batch:
            if batch is None:
                yield None
                return
            for row in batch.sent_before:
                await recorded(batch.connection, row.decision_id)
            yield batch
        marked.update(row.decision_id for row in batch.sent_before)

    name = OnceStream(redis, stream)
    await send_waiting(name, named, _outgoing, lambda: now, webhook=WebhookType.REPLY_CREATED)
    return frozenset(marked)


async def send_waiting(
    stream: OnceStream,
    waiting: Callable[[Lease], AbstractAsyncContextManager[LockedBatch[Row] | None]],
    outgoing: Callable[[Row], Outgoing],
    now: Callable[[], datetime],
    *,
    webhook: WebhookType | None = None,
) -> tuple[Sequence[Row], bool]:
    """Send one batch; the rows that were sent, and False when others are left to another relay.

    What was sent is stored for webhooks as events of type ``webhook``, in the same transaction.
    """
    async with stream.lease() as lease:
        if lease is None:
            return (), False
        async with waiting(lease) as batch:
            if batch is None:
                return (), False
            entries = [outgoing(row) for row in batch.rows]
            present = await lease.put_last(entries) if entries else 0
            sent: Sequence[Row] = batch.rows[:present]
            if webhook is not None:
                for rows in (batch.sent_before, sent):
                    await _store_events(batch.connection, webhook, rows, outgoing, now())
            if sent:
                await batch.delivered([row.row_id for row in sent], now())
    return sent, len(sent) == len(batch.rows) and batch.complete


async def _store_events(
    connection: Connection,
    webhook: WebhookType,
    rows: Sequence[Row],
    outgoing: Callable[[Row], Outgoing],
    at: datetime,
) -> None:
    """Store what is on the stream for webhooks."""
    events = [_event(row, outgoing(row), at) for row in rows if _may_be_subscribed(row)]
    if events:
        await subscriptions.store_events(connection, webhook, events)


def _may_be_subscribed(row: WaitingReply | Retraction | OutgoingEvent) -> bool:
    return not isinstance(row, WaitingReply) or row.is_subscribed


def _event(row: WaitingReply | Retraction | OutgoingEvent, entry: Outgoing, at: datetime) -> WebhookEvent:
    return WebhookEvent(
        user_id=row.user_id,
        conversation_id=row.conversation_id,
        key=entry.mark,
        body=entry.body,
        created_at=at,
        withdrawn=row.withdrawn if isinstance(row, WaitingReply) else None,
    )


def _outgoing(reply: WaitingReply) -> Outgoing:
    entry = ReplyEntry(
        event_id=reply.event_id,
        user_id=reply.user_id,
        decision_id=str(reply.decision_id),
        conversation_id=reply.conversation_id,
        message_id=reply.message_id,
        scope=Scope(reply.scope),
        text=f"{reply.disclosure}\n\n{reply.text}" if reply.disclosure else reply.text,
        disclosure=reply.disclosure,
        ai_generated=reply.ai_generated,
        handoff=reply.handoff,
        sources=reply.sources,
        created_at=reply.created_at.isoformat(),
        **reply.metadata,
    )
    return REPLY.outgoing(entry, mark=entry.decision_id, at=entry.created_at)
