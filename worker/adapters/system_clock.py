"""``worker.ports.Clock`` over the machine's clock, and its seconds since boot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import uuid_utils

BOOT_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux counts a suspended machine with the first only; elsewhere the second counts it or nothing does."""


def seconds_since_boot() -> float:
    """A time to compare with another one of this machine; setting the clock does not change it."""
    return time.clock_gettime(BOOT_CLOCK)


def machine_now() -> datetime:
    """The wall clock of this machine, UTC; possibly wrong."""
    return datetime.now(UTC)


class SystemClock:
    """Real time and real identifiers.

    Args:
        now: the wall clock; None: this machine's. Workers share the clock of Postgres.
    """

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self._now = now or machine_now
        self._interrupted = asyncio.Event()

    def interrupt(self) -> None:
        """End every sleep, now and later: the worker drains, and waiting entries are released at once."""
        self._interrupted.set()

    def now(self) -> datetime:
        """The wall clock, UTC."""
        return self._now()

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``.

        Raises:
            asyncio.CancelledError: the clock was interrupted.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._interrupted.wait()
        except TimeoutError:
            return
        raise asyncio.CancelledError("the worker drains")

    def new_id(self, at: datetime) -> UUID:
        """A UUIDv7 whose time is ``at``, to the millisecond."""
        return UUID(int=uuid_utils.uuid7(nanoseconds=int(at.timestamp() * 1_000_000) * 1000).int)
