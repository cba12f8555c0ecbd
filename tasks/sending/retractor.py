"""Retractions: withdrawn replies to the retraction stream, each once, after the undo window."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db.health.database_clock import DatabaseClock
from db.pool import Pool
from db.reviews import retractions
from db.reviews.retractions import Retraction
from tasks.sending.once_stream import OnceStream, Outgoing
from tasks.sending.outgoing import RETRACTION, RetractionEntry
from tasks.sending.relay import send_waiting
from worker.adapters.boot_clock import seconds_since_boot
from worker.errors import StorageUnavailable, StreamFull
from worker.model import Scope
from worker.webhooks.types import WebhookType

log = structlog.get_logger(__name__)

BATCH: Final = 200
LOOK_S: Final = 5.0
"""Pause between two looks, each one index scan; the undo window before it is 60 s."""


class Retractor:
    """Asks channels to remove replies, one retractor at a time over the whole fleet.

    Args:
        refresh: awaited before each look, for a ``now`` that must be read first.
    """

    def __init__(
        self,
        pool: Pool,
        redis: Redis,
        *,
        stream: str,
        now: Callable[[], datetime],
        refresh: Callable[[], Awaitable[None]] | None = None,
        signing_key: bytes | None = None,
    ) -> None:
        self._pool = pool
        self._stream = OnceStream(redis, stream, signing_key)
        self._now = now
        self._refresh = refresh

    async def run(self) -> None:
        """Look every ``LOOK_S``, until cancelled."""
        while True:
            try:
                while await self.deliver_batch() == BATCH:
                    pass
            except (StorageUnavailable, StreamFull, RedisError, OSError) as error:
                log.warning("retraction_postponed", error=type(error).__name__)
            await asyncio.sleep(LOOK_S)

    async def deliver_batch(self) -> int | None:
        """Append up to ``BATCH`` due retractions; how many, None while another holds them."""
        if self._refresh is not None:
            await self._refresh()
        sent, complete = await send_waiting(
            self._stream,
            lambda _lease: retractions.due_retractions(self._pool, BATCH, self._now()),
            _outgoing,
            self._now,
            webhook=WebhookType.REPLY_RETRACTED,
        )
        for each in sent:
            log.info("reply_retracted", event_id=each.event_id, decision_id=str(each.decision_id))
        return len(sent) if complete else None


def fleet_retractor(pool: Pool, redis: Redis, *, stream: str, signing_key: bytes | None = None) -> Retractor:
    """The retractor of a worker, on the clock of Postgres.

    With the clock of its machine, a worker whose clock is fast would end the undo window early.
    """
    clock = DatabaseClock(pool, seconds=seconds_since_boot)
    return Retractor(
        pool, redis, stream=stream, now=clock.now, refresh=clock.refresh, signing_key=signing_key
    )


def _outgoing(retraction: Retraction) -> Outgoing:
    entry = RetractionEntry(
        event_id=retraction.event_id,
        user_id=retraction.user_id,
        decision_id=str(retraction.decision_id),
        review_id=str(retraction.review_id),
        conversation_id=retraction.conversation_id,
        message_id=retraction.message_id,
        scope=Scope(retraction.scope),
        retracted_at=retraction.created_at.isoformat(),
    )
    return RETRACTION.outgoing(entry, mark=entry.review_id, at=entry.retracted_at)
