"""What a worker's next READ may take, from its free places and its held events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tasks.fairness.shares import ReadPlan, account_key, few_lanes, kept_free
from tasks.places import Places

AHEAD_BATCH: Final = 256


class Admission:
    """Plans the READs of a worker.

    Args:
        places: the worker's in-flight limit.
        read_ahead: entries that the fleet may have read and not finished before it reads on.
        open_lanes: accounts with held events -> lanes that they may run meanwhile.
    """

    def __init__(
        self, places: Places, *, read_ahead: int, open_lanes: Callable[[], Mapping[str, int]]
    ) -> None:
        self._places = places
        self._read_ahead = read_ahead
        self._open_lanes = open_lanes

    def plan(self, reserved: int) -> ReadPlan:
        """The plan of a READ for which ``reserved`` places were taken."""
        limit = self._places.limit
        free = limit - self._places.taken + reserved
        return ReadPlan(
            batch=AHEAD_BATCH,
            most_admitted=self._read_ahead,
            shared=max(0, min(reserved, free - kept_free(limit))),
            few=few_lanes(limit),
            limited=tuple((account_key(user_id), lanes) for user_id, lanes in self._open_lanes().items()),
        )
