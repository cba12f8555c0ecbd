"""Delivery: outbox rows to the reply stream, each once. Nothing else sends to users."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db import outbox
from db.outbox import WaitingReply
from db.pool import Pool
from tasks.once_stream import OnceStream, Outgoing
from worker.errors import StorageUnavailable, StreamFull

log = structlog.get_logger(__name__)

BATCH: Final = 200
SHORT_PAUSE_S: Final = 0.1
LONG_PAUSE_S: Final = 2.0


class Relay:
    """Puts waiting replies on the reply stream, one relay at a time over the whole fleet.

    A batch is read and sent under a lease in Redis, which ends before the lock in Postgres. A relay that was
    frozen therefore sends nothing late, and nothing is sent while a reviewer holds the lock.

    Args:
        pool: the hot path's connections.
        redis: the server of the reply stream.
        stream: key of the reply stream.
        now: the wall clock.
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
        async with self._stream.lease() as lease:
            if lease is None:
                return None
            async with outbox.waiting_replies(self._pool, BATCH, self._now()) as batch:
                if batch is None:
                    return None
                replies = batch.replies
                there = replies and replies[: await lease.put([_outgoing(reply) for reply in replies])]
                if there:
                    await batch.delivered([reply.outbox_id for reply in there], self._now())
        for reply in there:
            log.info("reply_delivered", event_id=reply.event_id, decision_id=str(reply.decision_id))
        return len(there) if len(there) == len(replies) and batch.complete else None


def _outgoing(reply: WaitingReply) -> Outgoing:
    body = {
        "event_id": reply.event_id,
        "user_id": reply.user_id,
        "decision_id": str(reply.decision_id),
        "conversation_id": reply.conversation_id,
        "message_id": reply.message_id,
        "scope": reply.scope,
        "text": reply.text,
        "sources": reply.sources,
        "created_at": reply.created_at.isoformat(),
    }
    return Outgoing(mark=str(reply.decision_id), key=f"{reply.user_id}/{reply.event_id}", body=body)
