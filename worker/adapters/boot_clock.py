"""Seconds that also count while the process is stopped and the machine sleeps."""

from __future__ import annotations

import time
from typing import Final

CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux counts a suspended machine with the first only; elsewhere the second counts it or nothing does."""


def seconds_since_boot() -> float:
    """A time to compare with another one of this machine; setting the clock does not change it."""
    return time.clock_gettime(CLOCK)
