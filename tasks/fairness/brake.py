"""How many lanes a worker should run so that its event loop still answers at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")
TARGET: Final = 0.8
"""Share of the time that the loop may be busy; with more, every step of every event waits for others."""
STEP_S: Final = 0.25
FACTORS: Final = (0.8, 1.25)
"""Least and most change of the ceiling in one step."""
LEAST: Final = 16
LEAST_SHARE: Final = 10
"""The ceiling is never below one lane in so many: on a crowded machine a loop is busy with waiting for its
turn, and few lanes would leave processor time unused."""
REMEMBERED_S: Final = 60.0


def busy_s() -> float:
    """Seconds that the calling thread ran or waited for a processor; only ran, where the wait is unknown."""
    try:
        ran_ns, waited_ns, _ = SCHEDSTAT.read_text().split()
    except (OSError, ValueError):
        return time.thread_time()
    return (int(ran_ns) + int(waited_ns)) / 1e9 or time.thread_time()


class Brake:
    """Limits running lanes while several accounts send, by how busy the event loop is.

    A loop that never rests makes every event slow, also those of an account with few; beyond that point more
    lanes at once do not finish more events. A single account is not limited: it would only wait elsewhere.

    Args:
        most: lanes beyond which nothing runs in any case.
        busy_s: seconds that the loop's thread was busy so far; read in that thread.
        now_s: monotonic time.
    """

    def __init__(self, most: int, *, busy_s: Callable[[], float], now_s: Callable[[], float]) -> None:
        self._most = most
        self._least = min(most, max(LEAST, most // LEAST_SHARE))
        self._ceiling = float(self._least)
        self._busy_s = busy_s
        self._now_s = now_s
        self._at_s, self._busy_at_s = now_s(), busy_s()
        self._seen_s: dict[str, float] = {}

    def saw(self, accounts: Iterable[str]) -> None:
        """Note the accounts of new grants."""
        self._seen_s |= dict.fromkeys(accounts, self._now_s())

    def ceiling(self, running: int) -> int:
        """How many lanes the accounts with many lanes may run, all together; ``running`` lanes run now."""
        now_s = self._now_s()
        if (elapsed_s := now_s - self._at_s) >= STEP_S:
            busy_s = self._busy_s()
            self._adapt((busy_s - self._busy_at_s) / elapsed_s, running)
            self._at_s, self._busy_at_s = now_s, busy_s
            self._seen_s = {key: at for key, at in self._seen_s.items() if now_s - at < REMEMBERED_S}
        return int(self._ceiling) if len(self._seen_s) > 1 else self._most

    def _adapt(self, busy: float, running: int) -> None:
        smallest, largest = FACTORS
        factor = min(largest, max(smallest, TARGET / max(busy, 0.01)))
        if factor < 1:
            self._ceiling = max(self._least, min(self._ceiling, running) * factor)
        elif running >= TARGET * self._ceiling:
            self._ceiling = min(self._most, self._ceiling * factor + 1)
