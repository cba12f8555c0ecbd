"""Delivery: outbox rows to the reply stream, each once. Nothing else sends to users."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db import outbox
from db.outbox import LockedBatch, WaitingReply
from db.outgoing.events import OutgoingEvent
from db.pool import Pool
from db.reviews.retractions import Retraction
from tasks.once_stream import OnceStream, Outgoing
from tasks.outgoing import REPLY, ReplyEntry
from worker.errors import StorageUnavailable, StreamFull
from worker.model import Scope

log = structlog.get_logger(__name__)

Row = TypeVar("Row", WaitingReply, Retraction, OutgoingEvent)
BATCH: Final = 200
SHORT_PAUSE_S: Final = 0.1
LONG_PAUSE_S: Final = 2.0


class Relay:
    """Puts waiting replies on the reply stream, one relay at a time over the whole fleet.

    A batch is read and sent under a lease in Redis, which ends before the lock in Postgres. A relay that was
    frozen therefore sends nothing late, and nothing is sent while a reviewer holds the lock.
    """

    def __init__(self, pool: Pool, redis: Redis, *, stream: str, now: Callable[[], datetime]) -> None:
        self._pool = pool
        self._stream = OnceStream(redis, stream)
        self._now = now
        self._asked = asyncio.Event()

    def nudge(self) -> None:
        """Signal that a reply waits."""
        self._asked.set()

    async def run(self) -> None:
        """Deliver whenever nudged, until cancelled."""
        while True:
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
        sent, complete = await send_waiting(
            self._stream, lambda: outbox.waiting_replies(self._pool, BATCH, self._now()), _outgoing, self._now
        )
        for reply in sent:
            log.info("reply_delivered", event_id=reply.event_id, decision_id=str(reply.decision_id))
        return len(sent) if complete else None


async def send_waiting(
    stream: OnceStream,
    waiting: Callable[[], AbstractAsyncContextManager[LockedBatch[Row] | None]],
    outgoing: Callable[[Row], Outgoing],
    now: Callable[[], datetime],
) -> tuple[Sequence[Row], bool]:
    """Send one batch; the rows that were sent, and False when others are left to another relay."""
    async with stream.lease() as lease:
        if lease is None:
            return (), False
        async with waiting() as batch:
            if batch is None:
                return (), False
            sent = batch.rows and batch.rows[: await lease.put([outgoing(row) for row in batch.rows])]
            if sent:
                await batch.delivered([row.row_id for row in sent], now())
    return sent, len(sent) == len(batch.rows) and batch.complete


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
