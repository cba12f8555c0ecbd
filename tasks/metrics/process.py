"""The metrics of one process, held in a registry of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

from tasks.metrics import names
from tasks.metrics.names import MetricKind, MetricSource, MetricSpec
from worker import __version__
from worker.model import Decision
from worker.reasons import Reason, ReasonFamily

OTHER: Final = "other"
"""Label of accounts beyond the cap."""
VERDICTS: Final = {True: "wrong", False: "right", None: "neither"}


class ProcessMetrics:
    """A registry with the metrics that every process serves.

    Args:
        process: ``worker``, ``beat``, ``review``, ``gateway`` or ``exporter``.
    """

    def __init__(self, process: str) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        gauge(names.BUILD_INFO, self.registry).labels(version=__version__, process=process).set(1)


def counter(spec: MetricSpec, registry: CollectorRegistry) -> Counter:
    """A counter of the registry."""
    assert spec.kind is MetricKind.COUNTER
    return Counter(spec.name, spec.help, spec.labels, registry=registry)


def gauge(spec: MetricSpec, registry: CollectorRegistry) -> Gauge:
    """A gauge of the registry."""
    assert spec.kind is MetricKind.GAUGE
    return Gauge(spec.name, spec.help, spec.labels, registry=registry)


def histogram(spec: MetricSpec, registry: CollectorRegistry) -> Histogram:
    """A histogram of the registry."""
    assert spec.kind is MetricKind.HISTOGRAM
    return Histogram(spec.name, spec.help, spec.labels, buckets=spec.buckets, registry=registry)


class WorkerMetrics:
    """What a worker counts; every method is called from the worker's loop.

    Args:
        process: the registry that is served.
        accounts: most accounts with a label of their own; 0: no account has a label.
    """

    def __init__(self, process: ProcessMetrics, *, accounts: int) -> None:
        registry = self.registry = process.registry
        self._most_accounts = accounts
        self._accounts: set[str] = set()
        counters = (each for each in names.METRICS if each.kind is MetricKind.COUNTER)
        self._counters = {
            each: counter(each, registry)
            for each in counters
            if each.source is MetricSource.WORKER and (accounts or each is not names.ACCOUNT_EVENTS_DECIDED)
        }
        self._stages = histogram(names.STAGE_DURATION, registry)
        self._age = histogram(names.EVENT_AGE, registry)
        self._request_duration = histogram(names.UPSTREAM_DURATION, registry)
        self._upstream_gauges: dict[str, Gauge] = {}

    def count(self, spec: MetricSpec, *labels: str, by: int = 1) -> None:
        """Count with a counter of workers."""
        found = self._counters[spec]
        (found.labels(*labels) if labels else found).inc(by)

    def decided(self, decision: Decision) -> None:
        """Count a decision, after its commit."""
        event = decision.event
        self.count(names.EVENTS_DECIDED, decision.kind, decision.reason_code, event.scope)
        for stage in decision.stages:
            self._stages.labels(stage.stage, stage.outcome).observe(stage.duration_ms / 1000)
        self._age.observe(max(0.0, (decision.decided_at - event.received_at).total_seconds()))
        for used in decision.usage:
            self.count(names.TOKENS, used.purpose, "prompt", by=used.tokens.prompt)
            self.count(names.TOKENS, used.purpose, "completion", by=used.tokens.completion)
        if event.feedback is not None:
            self.count(names.FEEDBACK, VERDICTS[event.feedback.wrong])
        if decision.degraded:
            self.count(names.DEGRADED)
        if self._most_accounts:
            blocked = Reason(decision.reason_code).spec.family is ReasonFamily.BLOCKED
            self.count(names.ACCOUNT_EVENTS_DECIDED, self._account(event.user_id), str(blocked).lower())

    def requested(self, upstream: str, outcome: str, duration_s: float) -> None:
        """Count a request to a model server."""
        self.count(names.UPSTREAM_REQUESTS, upstream, outcome)
        self._request_duration.labels(upstream).observe(duration_s)

    def show(self, spec: MetricSpec, value: Callable[[], float]) -> None:
        """Serve a gauge whose value is read at each scrape."""
        gauge(spec, self.registry).set_function(value)

    def show_upstream(self, spec: MetricSpec, upstream: str, value: Callable[[], float], *more: str) -> None:
        """Serve a gauge of an upstream whose value is read at each scrape."""
        shown = self._upstream_gauges.get(spec.name)
        if shown is None:
            shown = self._upstream_gauges[spec.name] = gauge(spec, self.registry)
        shown.labels(upstream, *more).set_function(value)

    def forget_upstreams(self) -> None:
        """Serve no gauge of an upstream until it is shown again."""
        for shown in self._upstream_gauges.values():
            shown.clear()

    def _account(self, user_id: str) -> str:
        if user_id not in self._accounts and len(self._accounts) >= self._most_accounts:
            return OTHER
        self._accounts.add(user_id)
        return user_id
