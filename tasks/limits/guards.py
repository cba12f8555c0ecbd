"""The guards of a process: one for each upstream, with places for each kind of call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, assert_never

from tasks.limits.upstream_limits import UpstreamLimits
from tasks.metrics import names
from worker.adapters.call_guard import CallGuard, CallLimits, Upstream, key_id, log_state
from worker.adapters.circuit_breaker import BreakerLimits, BreakerState, CircuitBreaker
from worker.adapters.vendor_failures import trouble_of
from worker.places import Places
from worker.settings import ModelServer, Settings, classifier_key
from worker.settings.calls import Resource, UpstreamKind

if TYPE_CHECKING:  # a worker without metrics does without their library
    from tasks.metrics.process import WorkerMetrics

OPTIONAL_WAIT_S: Final = 1.0
"""How long a call that an event can do without waits for a place, in seconds."""
OPTIONAL: Final = frozenset({UpstreamKind.JUDGE, UpstreamKind.EMBEDDING})
"""An event goes on without them; so they get at most half of the places in flight."""
BREAKER: Final = BreakerLimits()
STATES: Final = tuple(BreakerState)
"""Their places are the values of the metric: 0 closed, 1 half-open, 2 open."""


def connections(settings: Settings) -> int:
    """Connections to one server, which may serve models and judge, so that neither waits for the other's."""
    return most_calls(settings, UpstreamKind.MODEL) + most_calls(settings, UpstreamKind.JUDGE)


def address(settings: Settings, kind: UpstreamKind, name: str) -> tuple[str, str | None]:
    """Base URL and key of an upstream."""
    match kind:
        case UpstreamKind.MODERATION:
            return _place(settings.servers.moderation)
        case UpstreamKind.MODEL:
            return settings.servers.model.place
        case UpstreamKind.JUDGE:
            return _place(settings.servers.judge)
        case UpstreamKind.EMBEDDING:
            return _place(settings.servers.embeddings)
        case UpstreamKind.CLASSIFIER:
            declared = name.removeprefix("classifier ")
            return settings.classifiers[declared].base_url, classifier_key(settings, declared)
        case _:
            assert_never(kind)


def _place(server: ModelServer | None) -> tuple[str, str | None]:
    return server.place if server else ("", None)


def most_calls(settings: Settings, kind: UpstreamKind) -> int:
    """Calls of a kind that a process makes at once."""
    share = 2 if kind in OPTIONAL else 1
    return settings.concurrent_calls.get(kind) or max(1, settings.in_flight // share)


class Guards:
    """Makes and keeps the guards of a process.

    Args:
        limits_of: the limits of an upstream over the fleet; None where there are none.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: WorkerMetrics | None = None,
        limits_of: Callable[[UpstreamKind, Upstream], CallLimits | None] = lambda *_: None,
    ) -> None:
        self._places = {
            kind: Places(most_calls(settings, kind), wait_s=OPTIONAL_WAIT_S if kind in OPTIONAL else None)
            for kind in UpstreamKind
        }
        self._settings = settings
        self._limits_of = limits_of
        self._metrics = metrics
        self._guards: dict[str, CallGuard] = {}

    def begin(self, settings: Settings) -> None:
        """Forget the guards of former servers; running calls keep theirs, and the places are shared."""
        self._settings = settings
        self._guards = {}
        if self._metrics is not None:
            self._metrics.forget_upstreams()

    def __iter__(self) -> Iterator[CallGuard]:
        return iter(self._guards.values())

    def guard(self, kind: UpstreamKind, name: str, model: str) -> CallGuard:
        """The guard of a model of an upstream."""
        url, key = address(self._settings, kind, name)
        upstream, metrics = Upstream(name=name, url=url, key_id=key_id(key), model=model), self._metrics
        log_change = log_state(name)

        def changed(state: BreakerState) -> None:
            log_change(state)
            if metrics is not None and state is BreakerState.OPEN:
                metrics.count(names.BREAKER_OPENED, name)

        def not_called(why: str) -> None:
            if metrics is not None:
                metrics.count(names.NOT_CALLED, name, why)

        guard = CallGuard(
            upstream=upstream,
            breaker=CircuitBreaker(BREAKER, changed=changed),
            places=self._places[kind],
            trouble_of=trouble_of,
            limits=self._limits_of(kind, upstream),
            shared=kind is UpstreamKind.MODERATION,
            not_called=not_called,
        )
        self._guards[name] = guard
        if metrics is not None:
            metrics.show_upstream(names.BREAKER_STATE, name, lambda: STATES.index(guard.breaker.state))
            self._show_quotas(metrics, guard)
            metrics.show_upstream(names.CALLS_UNDER_WAY, name, lambda: guard.places.taken)
        return guard

    def _show_quotas(self, metrics: WorkerMetrics, guard: CallGuard) -> None:
        limits = guard.limits
        if not isinstance(limits, UpstreamLimits):
            return
        for resource in Resource:

            def left(resource: Resource = resource) -> float:
                found = limits.left(resource)
                return math.nan if found is None else float(found)

            metrics.show_upstream(names.QUOTA_LEFT, guard.upstream.name, left, resource)
        metrics.show_upstream(names.PAUSED, guard.upstream.name, lambda: limits.pause_left_s)
