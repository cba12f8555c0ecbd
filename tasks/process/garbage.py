"""When workers, beat and web servers look for garbage in cycles."""

from __future__ import annotations

import gc
from contextlib import suppress
from ctypes import CDLL
from typing import Final

COLLECT_AFTER: Final = (200_000, 20, 20)
"""Thresholds of the garbage collector: with Python's own, 700 and 10 and 10, it took a quarter of a worker's
CPU with 1,500 events in flight, with 20,000 a tenth (``bench/results/decision-cost.md``). Cycles that wait
for it are those of 1,700 failed calls at most."""


def spare_the_collector() -> None:
    """Keep modules and compiled patterns, which stay, out of every search for garbage.

    The memory that only the start needed goes back to the system.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    with suppress(AttributeError):  # another C library
        CDLL(None).malloc_trim(0)


async def collect_garbage(_owner: object) -> None:
    """Look through all that came after ``spare_the_collector``.

    A call that failed leaves 118 objects in cycles of futures, errors and their tracebacks, a check of beat
    that could not reach Postgres 450. Those that had grown old stayed for hours: 10 MB an hour in a soak.
    A collection takes 2 ms without events in flight and 50 to 90 ms with a thousand (2 cores; record 0088).
    """
    gc.collect()
