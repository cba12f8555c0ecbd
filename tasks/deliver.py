"""The one door to users: outbox rows onto the reply stream, each once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db import outbox
from db.outbox import Reply
from db.pool import Pool
from tasks.once import OnceStream, Outgoing
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

BATCH: Final = 200
SHORT_PAUSE_S: Final = 0.1
LONG_PAUSE_S: Final = 2.0


class Relay:
    """Puts waiting replies on the reply stream, one relay at a time over the whole fleet.

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
        """Say that a reply waits."""
        self._asked.set()

    async def run(self) -> None:
        """Deliver whenever nudged, until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            await self.drain()

    async def drain(self) -> int:
        """Deliver until nothing waits; how many replies went out. Postgres or Redis away: later."""
        total = 0
        while True:
            try:
                sent = await self.deliver_batch()
            except (StorageUnavailable, RedisError, OSError) as error:
                log.warning("delivery_postponed", error=type(error).__name__)
                await asyncio.sleep(LONG_PAUSE_S)
                continue
            if sent is None:
                await asyncio.sleep(SHORT_PAUSE_S)
                continue
            if sent == 0:
                return total
            total += sent

    async def deliver_batch(self) -> int | None:
        """Deliver up to ``BATCH`` replies; how many waited, None while another relay holds them."""
        async with outbox.waiting(self._pool, BATCH) as batch:
            if batch is None:
                return None
            if batch.replies:
                await self._stream.put([_outgoing(reply) for reply in batch.replies])
                await batch.delivered([reply.outbox_id for reply in batch.replies], self._now())
        for reply in batch.replies:
            log.info("reply_delivered", event_id=reply.event_id, decision_id=str(reply.decision_id))
        return len(batch.replies)


def _outgoing(reply: Reply) -> Outgoing:
    body = {
        "event_id": reply.event_id,
        "user_id": reply.user_id,
        "decision_id": str(reply.decision_id),
        "conversation_id": reply.conversation_id,
        "message_id": reply.message_id,
        "scope": reply.scope,
        "text": reply.text,
        "created_at": reply.created_at.isoformat(),
    }
    return Outgoing(mark=str(reply.decision_id), key=f"{reply.user_id}/{reply.event_id}", body=body)
