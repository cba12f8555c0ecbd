"""What the conditions of alerts look at, read from Redis and Postgres."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from redis.exceptions import RedisError

from db.fleet.figures import figures_connection
from db.fleet.recent import RecentCount, load_recent_counts
from tasks.fleet.state import REACH_S, FleetState, load_fleet
from tasks.limits.upstream_reports import WorkerReport, load_reports
from tasks.shards.clients import connect
from worker.adapters.circuit_breaker import BreakerState
from worker.errors import StorageUnavailable
from worker.settings import StreamSettings

MOST_SKEW_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The fleet with its recent decisions.

    Attributes:
        counts: empty while Postgres does not answer.
        workers: how many are expected.
        clocks: each worker whose machine's clock is wrong, with the seconds that it is ahead of Postgres.
        not_called: each upstream whose breaker is not closed, with the number of workers; empty while Redis
            does not answer.
        complete: False where something could not be read, so that an alert that is not found may still hold.
    """

    fleet: FleetState
    counts: tuple[RecentCount, ...]
    workers: int
    not_called: tuple[tuple[str, int], ...] = ()
    clocks: tuple[tuple[str, float], ...] = ()
    complete: bool = True


async def load_situation(
    settings: StreamSettings, url: str, *, workers: int, count_all: bool = True
) -> Situation:
    """The situation now; ``url`` and ``count_all`` as of ``load_fleet``."""
    fleet = await load_fleet(settings, url, count_all=count_all)
    complete = fleet.stream is not None and fleet.stream.complete and fleet.stored is not None
    try:
        async with figures_connection(url) as connection:
            counts = await load_recent_counts(connection, fleet.at)
    except StorageUnavailable:
        counts, complete = (), False
    try:
        reports = await _reports(settings)
    except (RedisError, OSError):
        reports, complete = (), False
    clocks = tuple((each.worker, each.ahead_s) for each in reports if abs(each.ahead_s) > MOST_SKEW_S)
    return Situation(
        fleet=fleet,
        counts=counts,
        workers=workers,
        not_called=_not_called(reports),
        clocks=clocks,
        complete=complete,
    )


async def _reports(settings: StreamSettings) -> tuple[WorkerReport, ...]:
    async with connect(settings.redis_url.get_secret_value(), timeout_s=REACH_S) as redis:
        return await load_reports(redis, settings.stream)


def _not_called(reports: tuple[WorkerReport, ...]) -> tuple[tuple[str, int], ...]:
    upstreams = (each for report in reports for each in report.upstreams)
    counts = Counter(each.upstream for each in upstreams if each.state != BreakerState.CLOSED)
    return tuple(sorted(counts.items()))
