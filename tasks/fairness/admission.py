"""What a worker's next READ may take, from its free places and its held events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tasks.fairness.brake import Brake
from tasks.fairness.shares import ReadPlan, account_key, few_lanes, kept_free
from worker.places import Places

READ_AHEAD: Final = 100_000
"""Unfinished events of the fleet; each needs up to 500 bytes of Redis."""
AHEAD_BATCH: Final = 500
"""Entries read ahead in one call: 14 ms of Redis. Other accounts wait until a burst is read."""


class Admission:
    """Plans the READs of a worker.

    Args:
        places: the worker's in-flight limit.
        open_lanes: accounts with held events -> lanes that they may run meanwhile.
        brake: limits the lanes while the event loop is busy.
        read_ahead: entries that the fleet may have read and not finished before it reads on.
    """

    def __init__(
        self,
        places: Places,
        *,
        open_lanes: Callable[[], Mapping[str, int]],
        brake: Brake,
        read_ahead: int = READ_AHEAD,
    ) -> None:
        self._places = places
        self._read_ahead = read_ahead
        self._open_lanes = open_lanes
        self._brake = brake

    def plan(self, reserved: int) -> ReadPlan:
        """The plan of a READ for which ``reserved`` places were taken."""
        limit = self._places.limit
        running = self._places.taken - reserved
        most = min(limit - kept_free(limit), self._brake.ceiling(running))
        return ReadPlan(
            batch=AHEAD_BATCH,
            most_admitted=self._read_ahead,
            shared=max(0, min(reserved, most - running)),
            few=few_lanes(limit),
            limited=tuple((account_key(user_id), lanes) for user_id, lanes in self._open_lanes().items()),
        )

    def granted(self, accounts: Iterable[str]) -> None:
        """Note the accounts whose lanes a READ granted."""
        self._brake.saw(accounts)
