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
from tasks.metrics.names import MetricKind, MetricSpec
from worker import __version__
from worker.model import Decision
from worker.reasons import Reason, ReasonFamily

OTHER: Final = "other"
"""Label of accounts beyond the cap."""


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
        self._decided = counter(names.EVENTS_DECIDED, registry)
        self._by_account = counter(names.ACCOUNT_EVENTS_DECIDED, registry) if accounts else None
        self._stages = histogram(names.STAGE_DURATION, registry)
        self._age = histogram(names.EVENT_AGE, registry)
        self._requests = counter(names.UPSTREAM_REQUESTS, registry)
        self._request_duration = histogram(names.UPSTREAM_DURATION, registry)
        self._not_called = counter(names.NOT_CALLED, registry)
        self._breakers_opened = counter(names.BREAKER_OPENED, registry)
        self._upstream_gauges: dict[str, Gauge] = {}
        self._tokens = counter(names.TOKENS, registry)
        self._degraded = counter(names.DEGRADED, registry)
        self._dead_letters = counter(names.DEAD_LETTERS, registry)
        self._repeated = counter(names.REPEATED, registry)
        self._webhooks = counter(names.WEBHOOK_ATTEMPTS, registry)
        self._delivered = counter(names.REPLIES_DELIVERED, registry)
        self._jobs = counter(names.JOB_FAILURES, registry)
        self._recordings = counter(names.RECORDING_FAILURES, registry)
        self._retention = counter(names.RETENTION_DELETED, registry)

    def decided(self, decision: Decision) -> None:
        """Count a decision, after its commit."""
        event = decision.event
        self._decided.labels(decision.kind, decision.reason_code, event.scope).inc()
        for stage in decision.stages:
            self._stages.labels(stage.stage, stage.outcome).observe(stage.duration_ms / 1000)
        self._age.observe(max(0.0, (decision.decided_at - event.received_at).total_seconds()))
        for purpose, tokens in decision.tokens_by_purpose.items():
            self._tokens.labels(purpose, "prompt").inc(tokens.prompt)
            self._tokens.labels(purpose, "completion").inc(tokens.completion)
        if decision.degraded:
            self._degraded.inc()
        if self._by_account is not None:
            blocked = Reason(decision.reason_code).spec.family is ReasonFamily.BLOCKED
            self._by_account.labels(self._account(event.user_id), str(blocked).lower()).inc()

    def requested(self, upstream: str, outcome: str, duration_s: float) -> None:
        """Count a request to a model server."""
        self._requests.labels(upstream, outcome).inc()
        self._request_duration.labels(upstream).observe(duration_s)

    def not_called(self, upstream: str, why: str) -> None:
        """Count a call of a model server that was not made."""
        self._not_called.labels(upstream, why).inc()

    def breaker_opened(self, upstream: str) -> None:
        """Count the opening of a breaker."""
        self._breakers_opened.labels(upstream).inc()

    def repeated(self, outcome: str) -> None:
        """Count an entry whose event was ended before."""
        self._repeated.labels(outcome).inc()

    def buried(self, reason_code: str) -> None:
        """Count a dead letter."""
        self._dead_letters.labels(reason_code).inc()

    def delivered(self, replies: int) -> None:
        """Count replies that were put on the stream."""
        self._delivered.inc(replies)

    def webhook_attempted(self, state: str) -> None:
        """Count an attempt to send a webhook, by the state of its delivery afterwards."""
        self._webhooks.labels(state).inc()

    def job_failed(self, job: str) -> None:
        """Count a background job that a bug ended."""
        self._jobs.labels(job).inc()

    def recording_failed(self) -> None:
        """Count a decision whose recording could not be stored with it."""
        self._recordings.inc()

    def retention_deleted(self, table: str, rows: int) -> None:
        """Count rows that retention deleted."""
        self._retention.labels(table).inc(rows)

    def show(self, spec: MetricSpec, value: Callable[[], float]) -> None:
        """Serve a gauge whose value is read at each scrape."""
        gauge(spec, self.registry).set_function(value)

    def show_upstream(self, spec: MetricSpec, upstream: str, value: Callable[[], float], *more: str) -> None:
        """Serve a gauge of an upstream whose value is read at each scrape."""
        shown = self._upstream_gauges.get(spec.name)
        if shown is None:
            shown = self._upstream_gauges[spec.name] = gauge(spec, self.registry)
        shown.labels(upstream, *more).set_function(value)

    def _account(self, user_id: str) -> str:
        if user_id not in self._accounts and len(self._accounts) >= self._most_accounts:
            return OTHER
        self._accounts.add(user_id)
        return user_id
