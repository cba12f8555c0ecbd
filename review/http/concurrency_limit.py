"""Limits concurrent requests per person and concurrent uploads per account."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

AT_ONCE: Final = 3
"""Concurrent requests of one person; the store has eight connections."""
WAITING: Final = 30
"""Queued requests of one person: more than a browser opens."""


class TooManyRequests(Exception):
    """Too many requests of one key wait already."""


@dataclass(slots=True)
class _KeyLoad:
    free: asyncio.Semaphore
    requests: int = 0


class ConcurrencyLimit:
    """Limits concurrent requests by key.

    Args:
        at_once: concurrent requests of one key.
        waiting: further requests of one key that may wait.
    """

    def __init__(self, *, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._at_once, self._waiting = at_once, waiting
        self._loads: dict[Hashable, _KeyLoad] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncIterator[None]:
        """Wait until fewer than ``at_once`` requests of this key are active.

        Raises:
            TooManyRequests: ``waiting`` requests wait already.
        """
        load = self._loads.setdefault(key, _KeyLoad(asyncio.Semaphore(self._at_once)))
        if load.requests >= self._at_once + self._waiting:
            raise TooManyRequests
        load.requests += 1
        try:
            async with load.free:
                yield
        finally:
            load.requests -= 1
            if not load.requests:
                del self._loads[key]
