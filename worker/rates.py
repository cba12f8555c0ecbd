"""The generic cell rate algorithm in one process; ``tasks/limits/lua/rate.lua`` is the same for a fleet."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from worker.recent import Recent

MINUTE_S: Final = 60.0
MOST_KEYS: Final = 10_000
"""Keys that were used longest ago are forgotten beyond this number, so that memory stays bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A limit: units a minute on average, and units that may be taken at once."""

    per_minute: float
    burst: int

    @property
    def unit_s(self) -> float:
        """Seconds in which one unit becomes free."""
        return MINUTE_S / self.per_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a rate gave.

    Attributes:
        amount: 0 when less than the useful part was left.
        wait_s: until that much is there.
        left: may be taken at once; negative after a call that was larger than the burst.
        used: in the last minute, by the fleet; 0 where only this process counts.
    """

    amount: int
    wait_s: float
    left: int
    used: int = 0


class LocalRates:
    """Rates by key in this process; each key stores the second from which all of its burst is free again."""

    def __init__(self) -> None:
        self._free_s: Recent[Hashable, float] = Recent(MOST_KEYS)

    def take(self, key: Hashable, rate: RateLimit, now_s: float, *, wanted: int = 1, least: int = 1) -> Taken:
        """Take up to ``wanted`` units, at least ``least``, or nothing; 0 wanted only looks.

        More than the burst may be taken from a whole rate; the next call then waits until the debt is paid.
        """
        free_s = max(self._free_s.get(key) or now_s, now_s)
        left = rate.burst - (free_s - now_s) / rate.unit_s
        useful = min(least, rate.burst)
        amount, wait_s = 0, 0.0
        if wanted > 0 and left >= useful:
            amount = max(min(wanted, math.floor(left)), least)
        elif wanted > 0:
            wait_s = (useful - left) * rate.unit_s
        self._free_s.keep(key, free_s + amount * rate.unit_s)
        return Taken(amount=amount, wait_s=wait_s, left=math.floor(left - amount))

    def clear(self) -> None:
        """Forget what was taken."""
        self._free_s.clear()
