"""What the conditions of alerts look at, read from Redis and Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from db.fleet.reading import figures_connection
from db.fleet.recent import RecentCount, load_recent_counts
from tasks.fleet.state import FleetState, load_fleet
from worker.errors import StorageUnavailable
from worker.settings import StreamSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The fleet with its recent decisions.

    Attributes:
        counts: empty while Postgres does not answer.
        workers: how many are expected.
    """

    fleet: FleetState
    counts: tuple[RecentCount, ...]
    workers: int


async def load_situation(
    settings: StreamSettings, url: str, *, workers: int, count_all: bool = True
) -> Situation:
    """The situation now; ``url`` and ``count_all`` as of ``load_fleet``."""
    fleet = await load_fleet(settings, url, count_all=count_all)
    try:
        async with figures_connection(url) as connection:
            counts = await load_recent_counts(connection, fleet.at)
    except StorageUnavailable:
        counts = ()
    return Situation(fleet=fleet, counts=counts, workers=workers)
