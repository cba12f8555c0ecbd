"""The fleet's figures as metrics: one exporter reads them, not every worker."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from db.fleet.figures import StoredFigures
from tasks.fleet.state import FleetState, StreamState, load_fleet
from tasks.metrics import names
from tasks.metrics.names import MetricSpec
from worker.settings import StreamSettings

FRESH_S: Final = 5.0
"""Scrapes within it get the same figures."""
COUNTED_S: Final = 300.0
"""Pause between two conservation checks, which count whole tables."""


class FleetCollector(Collector):
    """Reads the fleet's figures at each scrape.

    Args:
        load: the state of the fleet; with the conservation check when its argument is True.
    """

    def __init__(
        self, load: Callable[[bool], FleetState], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._load = load
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._state: FleetState | None = None
        self._read_at = self._counted_at = float("-inf")

    def collect(self) -> Iterable[Metric]:
        """The metrics now."""
        with self._lock:
            state = self._current()
        return list(fleet_metrics(state))

    def _current(self) -> FleetState:
        now = self._monotonic()
        if self._state is not None and now - self._read_at < FRESH_S:
            return self._state
        count_all = now - self._counted_at >= COUNTED_S
        state = self._load(count_all)
        if state.imbalance is not None:
            self._counted_at = now
        elif not count_all and self._state is not None:
            state = replace(state, imbalance=self._state.imbalance)
        self._state, self._read_at = state, now
        return state


def fleet_collector(settings: StreamSettings, url: str) -> FleetCollector:
    """A collector over the servers of the settings; called from threads without an event loop."""
    return FleetCollector(lambda count_all: asyncio.run(load_fleet(settings, url, count_all=count_all)))


def fleet_metrics(state: FleetState) -> Iterator[Metric]:
    """A state as metrics; figures of a server that did not answer are missing."""
    up = GaugeMetricFamily(names.SERVER_UP.name, names.SERVER_UP.help, labels=names.SERVER_UP.labels)
    up.add_metric(["redis"], float(state.stream is not None))
    up.add_metric(["postgres"], float(state.stored is not None))
    yield up
    if state.stream is not None:
        yield from _stream_metrics(state.stream)
    if state.stored is not None:
        yield from _stored_metrics(state.stored, state.at)
    if state.imbalance is not None:
        yield _plain(names.CONSERVATION_IMBALANCE, state.imbalance)


def age_s(oldest: datetime | None, at: datetime) -> float:
    """Seconds since ``oldest``; 0 without one."""
    return 0.0 if oldest is None else max(0.0, (at - oldest).total_seconds())


def _stream_metrics(found: StreamState) -> Iterator[Metric]:
    yield _plain(names.STREAM_ENTRIES, found.entries)
    yield _plain(names.OLDEST_ENTRY_AGE, found.oldest_age_s)
    yield _plain(names.WORKERS_ALIVE, found.workers)
    yield _plain(names.BEAT_AGE, found.beat_age_s)
    yield _plain(names.TASKS_AGE, found.tasks_age_s)
    yield _plain(names.REDIS_MEMORY, found.memory_share)
    if len(found.shards) > 1:
        yield _of_shards(names.SHARD_UP, {each.name: float(each.up) for each in found.shards})
        yield _of_shards(names.SHARD_ENTRIES, {each.name: each.entries for each in found.shards if each.up})
        ages = {each.name: each.oldest_age_s for each in found.shards if each.up}
        yield _of_shards(names.SHARD_OLDEST_AGE, ages)


def _of_shards(spec: MetricSpec, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(spec.name, spec.help, labels=spec.labels)
    for shard, value in values.items():
        family.add_metric([shard], value)
    return family


def _stored_metrics(found: StoredFigures, at: datetime) -> Iterator[Metric]:
    yield _plain(names.OUTBOX_WAITING, found.outbox_waiting)
    yield _plain(names.OUTBOX_OLDEST_AGE, age_s(found.outbox_oldest, at))
    yield _plain(names.WEBHOOKS_WAITING, found.webhooks_waiting)
    yield _plain(names.UNMODERATED, found.unmoderated_waiting)
    yield _plain(names.UNMODERATED_OLDEST_AGE, age_s(found.unmoderated_oldest, at))
    yield _plain(names.WEBHOOKS_OLDEST_AGE, age_s(found.webhooks_oldest, at))
    yield _plain(names.WEBHOOK_ENDPOINTS_FAILING, found.endpoints_failing)
    yield _plain(names.ESCALATIONS_OPEN, found.escalations_open)
    yield _plain(names.ESCALATIONS_OLDEST_AGE, age_s(found.escalations_oldest, at))
    yield _plain(names.LONGEST_HOLD, found.longest_hold_s)
    yield _plain(names.PARTITIONS_AHEAD, found.partitions_ahead)
    yield _plain(names.BUDGETS_REACHED, len(found.budgets_reached))
    yield _plain(names.ROLLOUTS_RETURNED, len(found.rollouts_returned))
    yield _plain(names.SHADOWS_RUNNING, found.shadows_running)
    yield _plain(names.SHADOWS_FAILED, found.shadows_failed)
    spec = names.QUEUE_OLDEST_AGE
    queues = GaugeMetricFamily(spec.name, spec.help, labels=spec.labels)
    for kind, oldest in sorted(found.queue_oldest.items()):
        queues.add_metric([kind], age_s(oldest, at))
    yield queues


def _plain(spec: MetricSpec, value: float) -> Metric:
    return GaugeMetricFamily(spec.name, spec.help, value=value)
