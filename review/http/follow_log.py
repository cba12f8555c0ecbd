"""Which lists are followed, so that the access log gets one line a minute, not one per refresh."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

LOGGED_EVERY: Final = timedelta(minutes=1)
MAX_LISTS: Final = 10_000
"""Lists remembered; beyond this number all are dropped, and each is logged once more."""


class FollowLog:
    """When each person's followed list was last logged, by the query of its URL."""

    def __init__(self) -> None:
        self._logged: dict[tuple[UUID, str], datetime] = {}

    def due(self, person_id: UUID, query: str, now: datetime) -> bool:
        """Whether a refresh must be logged; if so, it is stored as logged."""
        last = self._logged.get((person_id, query))
        if last is not None and now - last < LOGGED_EVERY:
            return False
        if len(self._logged) >= MAX_LISTS:
            self._logged.clear()
        self._logged[person_id, query] = now
        return True
