"""Figures that took long to count are shown again for a while, with the time at which they were counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar, cast

from worker.recent import Recent

Value = TypeVar("Value")
SLOW_S: Final = 0.025
"""Counting in less is repeated for every request: half of the server time that a page should keep to."""
REUSE_S: Final = 60.0
"""Figures of a minute ago are good enough for a page that says when they were counted."""
MOST: Final = 64
"""Figures that are kept, the least recently used are dropped first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Generic[Value]):
    """Figures with the time of their counting."""

    value: Value
    at: datetime


@dataclass(slots=True, kw_only=True)
class ReusedFigures:
    """Figures of ``REUSE_S`` by what they depend on: filters, rights, language and time zone."""

    _kept: Recent[Hashable, Counted[Any]] = field(default_factory=lambda: Recent(MOST))
    _counting: dict[Hashable, asyncio.Future[Counted[Any]]] = field(default_factory=dict)

    async def get(
        self, key: Hashable, now: datetime, count: Callable[[], Awaitable[Value]]
    ) -> Counted[Value]:
        """The kept figures of a key, or those that ``count`` returns, counted once for all that ask now."""
        known = self._kept.get(key)
        if known is not None and now - known.at < timedelta(seconds=REUSE_S):
            return cast("Counted[Value]", known)
        under_way = self._counting.get(key)
        if under_way is None:
            under_way = asyncio.ensure_future(self._counted(key, now, count))
            self._counting[key] = under_way
            under_way.add_done_callback(lambda ended: self._ended(key, ended))
        return cast("Counted[Value]", await asyncio.shield(under_way))

    async def _counted(
        self, key: Hashable, now: datetime, count: Callable[[], Awaitable[Any]]
    ) -> Counted[Any]:
        began = time.perf_counter()
        counted = Counted(value=await count(), at=now)
        is_current = self._counting.get(key) is asyncio.current_task()
        if time.perf_counter() - began > SLOW_S and is_current:
            self._kept.keep(key, counted)
        else:
            self._kept.drop(key)
        return counted

    def _ended(self, key: Hashable, counting: asyncio.Future[Counted[Any]]) -> None:
        if self._counting.get(key) is counting:
            del self._counting[key]
        if not counting.cancelled():
            counting.exception()  # marks it as seen where every request has left

    def forget(self) -> None:
        """Count again: the data behind the figures has changed."""
        self._kept.clear()
        self._counting.clear()
