"""When workers and beat look for garbage in cycles."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Final

COLLECT_AFTER: Final = (20_000, 20, 20)
"""Thresholds of the garbage collector: with Python's own, 700 and 10 and 10, it took a sixth of a worker's
CPU with 1,500 events in flight (``bench/results/decision-cost.md``)."""
COLLECT_EVERY_S: Final = 60.0
"""A call that failed leaves 118 objects in cycles of futures, errors and their tracebacks, and those that had
grown old stayed for hours: 10 MB an hour in a soak. A collection takes 2 ms without events in flight and 50
to 90 ms with a thousand (2 cores; record 0088)."""


def spare_the_collector() -> None:
    """Keep modules and compiled patterns, which stay, out of every search for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


async def collect_garbage() -> None:
    """Look through all that came after ``spare_the_collector``, until cancelled."""
    while True:
        await asyncio.sleep(COLLECT_EVERY_S)
        gc.collect()


def collect_garbage_on_a_thread() -> None:
    """Look every minute until the process ends; for beat, whose threads each have a loop of their own.

    A check that could not reach Postgres leaves 450 objects in cycles: 3 MB an hour in a soak.
    """
    gc.collect()
    gc.freeze()
    threading.Thread(target=_collect, name="garbage", daemon=True).start()


def _collect() -> None:
    while True:
        time.sleep(COLLECT_EVERY_S)
        gc.collect()
