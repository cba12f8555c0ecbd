"""Limits on what one process does at once: lanes of the engine, calls of models, requests of people."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress


class NoPlace(Exception):
    """No place became free in time, or too many wait for one already."""


class Places:
    """A number of places. ``place`` waits for one in the order of asking; ``reserve`` takes what is free.

    Args:
        limit: places; beyond it nothing more begins.
        sharers: how many share the places. One ``reserve`` gives no more than one part of the limit, so that
            an engine whose Redis does not answer leaves the other places free.
        wait_s: longest wait of ``place``; None: as long as it takes.
        most_waiting: waits of ``place`` at the same time; None: any number.
    """

    def __init__(
        self, limit: int, sharers: int = 1, *, wait_s: float | None = None, most_waiting: int | None = None
    ) -> None:
        self.limit = limit
        self._wait_s = wait_s
        self._most_waiting = most_waiting
        self._taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._changed = asyncio.Event()
        self.share_among(sharers)

    @property
    def taken(self) -> int:
        """Places in use; may exceed the limit for a moment after an outage of Redis."""
        return self._taken

    @property
    def waiting(self) -> int:
        """Waits for a place in ``place``."""
        return len(self._queue)

    def share_among(self, sharers: int) -> None:
        """Change how many share the places."""
        self._part = max(1, -(-self.limit // sharers))

    def reserve(self, most: int) -> int:
        """Take up to ``most`` free places for one READ; how many."""
        count = max(0, min(most, self.limit - self._taken, self._part))
        self._taken += count
        return count

    def take(self, count: int = 1) -> None:
        """Take places without regard to the limit: for lanes that run on after an outage of Redis."""
        self._taken += count

    def give_back(self, count: int = 1) -> None:
        """Free places for the waits that began first, and wake all that look for free ones."""
        self._taken -= count
        while self._queue and self._taken < self.limit:
            self._taken += 1
            self._queue.popleft().set_result(None)
        if count:
            self.wake()

    def wake(self) -> None:
        """Let every caller of ``wait`` look again."""
        self._changed.set()

    async def wait(self, timeout_s: float) -> bool:
        """Return True when a place became free or ``wake`` was called, False after ``timeout_s``."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
                return True
        return False

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place while inside; raises as ``enter``."""
        await self.enter()
        try:
            yield
        finally:
            self.give_back()

    async def enter(self, longest_s: float | None = None) -> None:
        """Wait for a place; ``give_back`` must follow.

        Raises:
            NoPlace: none became free within ``wait_s``, or within ``longest_s`` where that is shorter, or
                ``most_waiting`` wait already.
        """
        if self._taken < self.limit:
            self._taken += 1
            return
        waits = [each for each in (self._wait_s, longest_s) if each is not None]
        await self._queued(min(waits, default=None))

    async def _queued(self, wait_s: float | None) -> None:
        """Return with a place that ``give_back`` took for this wait."""
        if self._most_waiting is not None and self.waiting >= self._most_waiting:
            raise NoPlace(f"{self.waiting} wait for one of {self.limit} places already")
        given = asyncio.get_running_loop().create_future()
        self._queue.append(given)
        try:
            async with asyncio.timeout(wait_s):
                await asyncio.shield(given)
        except BaseException as error:
            if given.done():
                self.give_back()
            else:
                self._queue.remove(given)
            if isinstance(error, TimeoutError):
                raise NoPlace(f"all of {self.limit} places were taken for {wait_s} s") from error
            raise


class PlacesByKey:
    """Places of each key, such as of each person; a key without users takes no memory.

    Args:
        limit: at the same time, of one key.
        most_waiting: further ones of one key that may wait.
    """

    def __init__(self, limit: int, *, most_waiting: int) -> None:
        self._limit, self._most_waiting = limit, most_waiting
        self._places: dict[Hashable, Places] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncIterator[None]:
        """A place of this key while inside.

        Raises:
            NoPlace: ``most_waiting`` wait already.
        """
        places = self._places.setdefault(key, Places(self._limit, most_waiting=self._most_waiting))
        try:
            async with places.place():
                yield
        finally:
            if not places.taken and not places.waiting:
                self._places.pop(key, None)
