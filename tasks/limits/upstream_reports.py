"""What each worker reports about its upstreams, for doctor, commands and pages: kept in Redis for seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.limits.quotas import QuotaReport
from tasks.limits.upstream_limits import UpstreamLimits
from worker.adapters.call_guard import CallGuard
from worker.adapters.vendor_failures import remedy
from worker.model import AttemptOutcome
from worker.settings.calls import Resource
from worker.stored_json import object_writer, read_object

log = structlog.get_logger(__name__)

HOLDING: Final = frozenset({"moderation", "classifier"})
"""Upstreams for which an event may wait for hours."""
NEEDED: Final = HOLDING | {"model"}
"""Upstreams without which an event is not decided."""
NO_WORKER: Final = "no worker of this stream reports; start hushgate worker"
OUTAGE: Final = "see that its server works (hushgate doctor --live); workers call it again automatically"
STORAGE: Final = "Postgres: no decision can be stored, {}; hushgate doctor says more; workers try again"
LOGGED_EVERY_S: Final = 60.0
KEPT_S: Final = 15
"""A worker that stopped is forgotten after so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamReport:
    """One upstream in one worker.

    Attributes:
        upstream: such as ``moderation``.
        account: fingerprint of address, key and model; upstreams with the same one share limits.
        state: ``closed``, ``half_open`` or ``open``, of its breaker.
        times_opened: since the worker started.
        under_way: calls of its kind.
        most: places for calls of its kind.
        waiting: calls of its kind that wait for a place.
        trouble: how the last call failed, an ``AttemptOutcome``; empty: the call was answered.
        status: its HTTP status; 0 without an answer.
        cause: the wrong part of the deployment, as in ``VendorFailure``; else empty.
    """

    upstream: str
    account: str
    state: str
    times_opened: int
    under_way: int
    most: int
    waiting: int
    trouble: str = ""
    status: int = 0
    cause: str = ""

    @property
    def holds_events(self) -> bool:
        """Whether events can be held because of this upstream."""
        return self.kind in HOLDING and self.trouble != ""

    @property
    def kind(self) -> str:
        """Such as ``classifier``, of a named upstream too."""
        return self.upstream.partition(" ")[0]

    @property
    def problem(self) -> str:
        """Upstream, failure and what to do, in one line."""
        shown = f"{self.upstream}: {self.trouble}" + (f", HTTP {self.status}" if self.status else "")
        is_wrong = self.trouble == AttemptOutcome.MISCONFIGURED
        return f"{shown}; {remedy(self.upstream, self.cause) if is_wrong else OUTAGE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """All upstreams of one worker, and what is left of their limits.

    Attributes:
        ahead_s: the clock of the worker's machine minus the clock of Postgres, seconds.
        held: events that wait for a moderator or for limits of their account.
        storage: why it can store no decision, such as ``ReadOnlySqlTransaction``; empty: it can.
    """

    worker: str
    upstreams: tuple[UpstreamReport, ...]
    quotas: tuple[QuotaReport, ...]
    ahead_s: float = 0.0
    held: int = 0
    storage: str = ""


def report_of(guard: CallGuard) -> UpstreamReport:
    """The report of an upstream now."""
    trouble = guard.trouble
    return UpstreamReport(
        upstream=guard.upstream.name,
        account=guard.upstream.account,
        state=guard.breaker.state,
        times_opened=guard.breaker.times_opened,
        under_way=guard.places.taken,
        most=guard.places.limit,
        waiting=guard.places.waiting,
        trouble=trouble.kind if trouble else "",
        status=(trouble.status or 0) if trouble else 0,
        cause=trouble.cause if trouble else "",
    )


async def quotas_of(guards: Iterable[CallGuard]) -> tuple[QuotaReport, ...]:
    """What is used and left of each limit that is configured or that a server named."""
    shared: dict[str, list[CallGuard]] = {}
    for guard in guards:
        shared.setdefault(guard.upstream.account, []).append(guard)
    return tuple([await _quota(sharing, resource) for sharing in shared.values() for resource in Resource])


async def _quota(sharing: list[CallGuard], resource: Resource) -> QuotaReport:
    """One resource of the upstreams that share an account."""
    limits = sharing[0].limits
    assert isinstance(limits, UpstreamLimits)  # every guard of a worker has its limits
    rate = limits.rates.get(resource)
    if rate is not None:
        rate.used = (await rate.look()).used
    return QuotaReport(
        account=sharing[0].upstream.account,
        upstreams=", ".join(guard.upstream.name for guard in sharing),
        resource=resource,
        per_minute=rate.per_minute if rate else None,
        used=limits.used[resource].last_minute,
        left=limits.left(resource),
        waiting=rate.waiting if rate else 0,
        paused_s=round(limits.pause_left_s, 1),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamReporter:
    """Writes the reports of one worker, and logs each minute which upstream holds events."""

    redis: Redis
    stream: str
    worker: str
    guards: Iterable[CallGuard]
    ahead_s: Callable[[], float]
    held: Callable[[], int] = lambda: 0
    storage: Callable[[], str] = lambda: ""
    now_s: Callable[[], float] = time.monotonic
    _logged_s: dict[str, float] = field(default_factory=dict)

    async def report(self) -> None:
        """Report once; without Redis nothing is reported."""
        found = WorkerReport(
            worker=self.worker,
            upstreams=tuple(report_of(guard) for guard in self.guards),
            quotas=await quotas_of(self.guards),
            ahead_s=round(self.ahead_s(), 3),
            held=self.held(),
            storage=self.storage(),
        )
        self._log_holding(found)
        written = orjson.dumps(object_writer(WorkerReport)(found))
        try:
            async with self.redis.pipeline(transaction=False) as pipe:
                pipe.set(_key(self.stream, self.worker), written, ex=KEPT_S)
                pipe.sadd(_names(self.stream), self.worker)
                await pipe.execute()
        except (RedisError, OSError) as error:
            log.debug("upstreams_not_reported", error=type(error).__name__)

    def _log_holding(self, found: WorkerReport) -> None:
        """Log why events wait, at once and then each minute."""
        holding = {each.upstream: each for each in found.upstreams if each.holds_events and found.held}
        for upstream in self._logged_s.keys() - holding.keys():
            del self._logged_s[upstream]
        for upstream, each in holding.items():
            if self.now_s() - self._logged_s.get(upstream, float("-inf")) >= LOGGED_EVERY_S:
                self._logged_s[upstream] = self.now_s()
                log.error("events_held", upstream=upstream, held=found.held, problem=each.problem)


def problems(reports: Iterable[WorkerReport]) -> tuple[str, ...]:
    """Why events of these workers may be waiting: a line for Postgres and each upstream, each once."""
    found = dict[str, None]()
    for report in reports:
        if report.storage:
            found[STORAGE.format(report.storage)] = None
        found |= {each.problem: None for each in report.upstreams if each.trouble and each.kind in NEEDED}
    return tuple(found)


async def load_reports(redis: Redis, stream: str) -> tuple[WorkerReport, ...]:
    """The reports of all running workers; reports of stopped workers are removed.

    Raises:
        RedisError: Redis did not answer.
    """
    members: Any = await redis.smembers(_names(stream))
    workers = sorted(bytes(each).decode(errors="replace") for each in members)
    if not workers:
        return ()
    stored: Any = [await redis.get(_key(stream, worker)) for worker in workers]
    gone = [worker for worker, data in zip(workers, stored, strict=True) if data is None]
    if gone:
        await redis.srem(_names(stream), *gone)
    return tuple(read_object(WorkerReport, _parsed(data), "", []) for data in stored if data is not None)


def _parsed(data: bytes) -> object:
    """A stored report; None for one that is no JSON, which must not hide the others."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _names(stream: str) -> str:
    return f"{{{stream}}}:reporting"


def _key(stream: str, worker: str) -> str:
    return f"{{{stream}}}:upstreams:{worker}"
