"""What a worker's next READ may take, from its free places and its held events; whose lanes have turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from tasks.fairness.shares import ReadPlan, account_key, few_lanes, kept_free
from worker.places import Places
from worker.turns import Turns

READ_AHEAD: Final = 100_000
"""Unfinished events of the fleet; each needs up to 500 bytes of Redis."""
AHEAD_BATCH: Final = 500
"""Entries read ahead in one call: 14 ms of Redis. Other accounts wait until a burst is read."""


class Admission:
    """Plans the READs of a worker, and paces the lanes of accounts with many.

    Args:
        places: the worker's in-flight limit.
        open_lanes: accounts with held events -> lanes that they may run meanwhile.
        read_ahead: entries that the fleet may have read and not finished before it reads on.
    """

    def __init__(
        self,
        places: Places,
        *,
        open_lanes: Callable[[], Mapping[str, int]],
        read_ahead: int = READ_AHEAD,
    ) -> None:
        self._places = places
        self._read_ahead = read_ahead
        self._open_lanes = open_lanes
        self._turns = Turns(few_lanes(places.limit), time.perf_counter)

    def plan(self, reserved: int) -> ReadPlan:
        """The plan of a READ for which ``reserved`` places were taken."""
        limit = self._places.limit
        running = self._places.taken - reserved
        most = limit - kept_free(limit)
        return ReadPlan(
            batch=AHEAD_BATCH,
            most_admitted=self._read_ahead,
            shared=max(0, min(reserved, most - running)),
            few=few_lanes(limit),
            limited=tuple((account_key(user_id), lanes) for user_id, lanes in self._open_lanes().items()),
        )

    def begin(self, account: str, lane: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None]:
        """The coroutine for the task of a granted lane; ``ended`` must follow its end."""
        return self._turns.begin(account, lane)

    def ended(self, account: str) -> None:
        """Note the end of a lane."""
        self._turns.ended(account)
