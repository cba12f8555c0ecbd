"""What the conditions of alerts look at, read from Redis and Postgres."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from redis.exceptions import RedisError

from db.fleet.reading import figures_connection
from db.fleet.recent import RecentCount, load_recent_counts
from tasks.fleet.state import REACH_S, FleetState, load_fleet
from tasks.limits.board import load_reports
from tasks.shards.clients import connect
from worker.adapters.circuit_breaker import BreakerState
from worker.errors import StorageUnavailable
from worker.settings import StreamSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The fleet with its recent decisions.

    Attributes:
        counts: empty while Postgres does not answer.
        workers: how many are expected.
        not_called: each upstream whose breaker is not closed, with the number of workers; empty while Redis
            does not answer.
    """

    fleet: FleetState
    counts: tuple[RecentCount, ...]
    workers: int
    not_called: tuple[tuple[str, int], ...] = ()


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
    not_called = await _not_called(settings)
    return Situation(fleet=fleet, counts=counts, workers=workers, not_called=not_called)


async def _not_called(settings: StreamSettings) -> tuple[tuple[str, int], ...]:
    url = settings.redis_url.get_secret_value()
    try:
        async with connect(url, timeout_s=REACH_S) as redis:
            reports = await load_reports(redis, settings.stream)
    except (RedisError, OSError):
        return ()
    upstreams = (each for report in reports for each in report.upstreams)
    counts = Counter(each.upstream for each in upstreams if each.state != BreakerState.CLOSED)
    return tuple(sorted(counts.items()))
