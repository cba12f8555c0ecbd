"""Replies that a reviewer took back, onto the retraction stream: each once, after the undo window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db import retractions
from db.pool import Pool
from db.retractions import Retraction
from tasks.once import OnceStream, Outgoing
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

BATCH: Final = 200
LOOK_S: Final = 5.0
"""Pause between two looks: one index look each, apart from the hot path; a person waited 60 s before it."""


class Retractor:
    """Asks channels to remove replies, one retractor at a time over the whole fleet.

    Args:
        pool: the worker's connections.
        redis: the server of the retraction stream.
        stream: key of the retraction stream.
        now: the wall clock.
    """

    def __init__(self, pool: Pool, redis: Redis, *, stream: str, now: Callable[[], datetime]) -> None:
        self._pool = pool
        self._stream = OnceStream(redis, stream)
        self._now = now

    async def run(self) -> None:
        """Look every ``LOOK_S``, until cancelled."""
        while True:
            try:
                while await self.deliver_batch() == BATCH:
                    pass
            except (StorageUnavailable, RedisError, OSError) as error:
                log.warning("retraction_postponed", error=type(error).__name__)
            await asyncio.sleep(LOOK_S)

    async def deliver_batch(self) -> int | None:
        """Put up to ``BATCH`` that are due; how many, None while somebody else holds them."""
        async with retractions.due(self._pool, self._now(), BATCH) as batch:
            if batch is None:
                return None
            if batch.retractions:
                await self._stream.put([_outgoing(each) for each in batch.retractions])
                await batch.delivered([each.retraction_id for each in batch.retractions], self._now())
        for each in batch.retractions:
            log.info("reply_retracted", event_id=each.event_id, decision_id=str(each.decision_id))
        return len(batch.retractions)


def _outgoing(retraction: Retraction) -> Outgoing:
    body = {
        "event_id": retraction.event_id,
        "user_id": retraction.user_id,
        "decision_id": str(retraction.decision_id),
        "review_id": str(retraction.review_id),
        "conversation_id": retraction.conversation_id,
        "message_id": retraction.message_id,
        "scope": retraction.scope,
        "retracted_at": retraction.created_at.isoformat(),
    }
    key = f"{retraction.user_id}/{retraction.event_id}"
    return Outgoing(mark=str(retraction.review_id), key=key, body=body)
