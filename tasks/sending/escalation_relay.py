"""Escalations to their stream: each event once, in the order of the changes of its conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db.outgoing import events
from db.pool import Pool
from tasks.sending.escalation_entries import escalation_entry
from tasks.sending.once_stream import OnceStream
from tasks.sending.relay import send_waiting
from worker.errors import StorageUnavailable, StreamFull

log = structlog.get_logger(__name__)

BATCH: Final = 200
LOOK_S: Final = 5.0
"""Pause between two looks, each one index lookup; a worker's own escalation is sent at once."""
SHORT_PAUSE_S: Final = 0.1


class EscalationRelay:
    """Puts waiting events on the escalation stream, one relay at a time over the whole fleet.

    Args:
        pages: URL of the review pages, or None: entries have no link.
    """

    def __init__(
        self,
        pool: Pool,
        redis: Redis,
        *,
        stream: str,
        pages: str | None,
        now: Callable[[], datetime],
        signing_key: bytes | None = None,
    ) -> None:
        self._pool = pool
        self._stream = OnceStream(redis, stream, signing_key)
        self._pages = pages
        self._now = now
        self._asked = asyncio.Event()

    def nudge(self) -> None:
        """Signal that an event waits."""
        self._asked.set()

    async def run(self) -> None:
        """Look every ``LOOK_S`` and whenever nudged, until cancelled."""
        while True:
            self._asked.clear()
            await self.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._asked.wait()

    async def drain(self) -> None:
        """Send until nothing waits, or until a server does not answer."""
        try:
            while (sent := await self.deliver_batch()) is None or sent == BATCH:
                if sent is None:
                    await asyncio.sleep(SHORT_PAUSE_S)
        except (StorageUnavailable, StreamFull, RedisError, OSError) as error:
            log.warning("escalations_postponed", error=type(error).__name__)

    async def deliver_batch(self) -> int | None:
        """Append up to ``BATCH`` events; how many, None while another relay holds them."""
        sent, complete = await send_waiting(
            self._stream,
            lambda _lease: events.events_to_stream(self._pool, BATCH),
            lambda event: escalation_entry(event, self._pages),
            self._now,
        )
        for each in sent:
            log.info("escalation_sent", type=each.type, decision_id=each.key)
        return len(sent) if complete else None
