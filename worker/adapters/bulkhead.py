"""How many calls of one kind a process makes at once, so that calls that hang take no others' places."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class BulkheadFull(Exception):
    """No place became free in time."""


class Bulkhead:
    """Places for calls, given in the order of asking.

    Args:
        most: calls at once.
        wait_s: longest wait for a place; None: as long as it takes.
    """

    def __init__(self, most: int, *, wait_s: float | None = None) -> None:
        self.most = most
        self._wait_s = wait_s
        self._places = asyncio.Semaphore(most)
        self.in_use = 0
        self.waiting = 0

    @asynccontextmanager
    async def place(self, longest_s: float | None = None) -> AsyncIterator[None]:
        """A place for one call.

        Raises:
            BulkheadFull: none became free within ``wait_s``, or within ``longest_s`` where that is shorter.
        """
        if self._places.locked():
            await self._waited(
                min((each for each in (self._wait_s, longest_s) if each is not None), default=None)
            )
        else:
            await self._places.acquire()
        self.in_use += 1
        try:
            yield
        finally:
            self.in_use -= 1
            self._places.release()

    async def _waited(self, wait_s: float | None) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout(wait_s):
                await self._places.acquire()
        except TimeoutError as error:
            raise BulkheadFull(f"{self.most} calls under way, none ended in {wait_s} s") from error
        finally:
            self.waiting -= 1
