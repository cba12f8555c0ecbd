"""The in-flight limit of one worker, shared by its engines."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Places:
    """How many lanes may run at once in this process; every engine takes its places here.

    Args:
        limit: lanes that run at once; beyond it nothing more is admitted.
        engines: how many engines share the places. One READ reserves no more than its part of the limit,
            so that an engine whose Redis does not answer leaves the other places free.
    """

    def __init__(self, limit: int, engines: int = 1) -> None:
        self.limit = limit
        self._taken = 0
        self._changed = asyncio.Event()
        self.share_among(engines)

    @property
    def taken(self) -> int:
        """Places in use; may exceed the limit for a moment after an outage of Redis."""
        return self._taken

    def share_among(self, engines: int) -> None:
        """Change how many engines share the places."""
        self._part = max(1, -(-self.limit // engines))

    def reserve(self, most: int) -> int:
        """Take up to ``most`` free places for one READ; how many."""
        count = max(0, min(most, self.limit - self._taken, self._part))
        self._taken += count
        return count

    def take(self, count: int = 1) -> None:
        """Take places without regard to the limit: for lanes that run on after an outage of Redis."""
        self._taken += count

    def give_back(self, count: int = 1) -> None:
        """Free places, and wake the engines that wait for one."""
        self._taken -= count
        if count:
            self.wake()

    def wake(self) -> None:
        """Let every waiting engine look again."""
        self._changed.set()

    async def wait(self, timeout_s: float) -> bool:
        """Return True when a place became free or ``wake`` was called, False after ``timeout_s``."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
                return True
        return False
