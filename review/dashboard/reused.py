"""Figures that took long to count are shown again for a while, with the time at which they were counted."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar, cast

Value = TypeVar("Value")
SLOW_S: Final = 0.05
"""Counting in less is repeated for every request: the server time that a page should keep to."""
MOST: Final = 64
"""Figures that are kept, the least recently used are dropped first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Generic[Value]):
    """Figures, and when they were counted."""

    value: Value
    at: datetime


@dataclass(slots=True, kw_only=True)
class ReusedFigures:
    """Figures by everything that they depend on but the data: filters, rights, language and time zone.

    Attributes:
        reuse_s: how long they are shown again; 0: never.
    """

    reuse_s: float = 0.0
    _kept: OrderedDict[Hashable, Counted[Any]] = field(default_factory=OrderedDict)

    async def get(
        self, key: Hashable, now: datetime, count: Callable[[], Awaitable[Value]]
    ) -> Counted[Value]:
        """The kept figures of a key, or those that ``count`` returns."""
        known = self._kept.get(key)
        if known is not None and now - known.at < timedelta(seconds=self.reuse_s):
            self._kept.move_to_end(key)
            return cast("Counted[Value]", known)
        began = time.perf_counter()
        counted = Counted(value=await count(), at=now)
        if time.perf_counter() - began > SLOW_S and self.reuse_s:
            self._kept[key] = counted
            self._kept.move_to_end(key)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        else:
            self._kept.pop(key, None)
        return counted

    def forget(self) -> None:
        """Count again: somebody has changed what the figures show."""
        self._kept.clear()
