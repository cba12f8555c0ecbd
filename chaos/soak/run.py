"""One soak: measure the capacity, publish below it for hours under faults, settle, judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from chaos.faults.injector import Injector
from chaos.fleet.world import world
from chaos.kinds import FaultKind
from chaos.load import Publisher
from chaos.observing.collect import unfinished_entries
from chaos.plan import Plan
from chaos.reports.report import Report
from chaos.run import LOOK_S, Progress, Run, await_start, heal, judged, look_after, observed, run_of, settle
from chaos.soak.samples import Sample, take

SURVIVABLE: Final = (
    *(FaultKind.WORKER_STOP, FaultKind.DELIVERER_STOP, FaultKind.GATEWAY_STOP, FaultKind.REVIEW_STOP),
    *(FaultKind.RESET, FaultKind.LOST_ANSWERS, FaultKind.FROZEN, FaultKind.LATENCY, FaultKind.HALF_OPEN),
    *(FaultKind.PARTITION, FaultKind.UPSTREAM_429, FaultKind.UPSTREAM_500, FaultKind.UPSTREAM_HANG),
    *(FaultKind.UPSTREAM_HALF, FaultKind.RECEIVER_HANG, FaultKind.CLOCK_JUMP, FaultKind.READ_ONLY),
)
"""Faults that every process survives, so that what it gathers stays to be seen."""
WARM_SHARE: Final = 1 / 8
"""Of the planned time: processes fill their caches and meet each fault; a figure is judged after that."""
WARM_FAULTS: Final = 3
"""Of each kind within ``WARM_SHARE``. A fault raises what a process holds at once to a new height, and
Python's allocator keeps that height, in arenas of 1 MiB."""
CAPACITY_EVENTS: Final = 6_000
DRAINED: Final = 100
DRAIN_S: Final = 600.0
"""The steady load begins when ``DRAINED`` entries are left, or after this time."""
MOST_LONGER: Final = 1.15
"""A fleet that cannot keep the rate is stopped at this multiple of the planned time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakPlan:
    """What a soak does.

    Attributes:
        load: share of the capacity that is published.
        faults: of each kind in ``SURVIVABLE``, over the whole time; ``WARM_FAULTS`` come besides, or none.
        sample_s: between two samples.
    """

    hours: float
    load: float
    workers: int
    faults: int
    seed: int
    sample_s: float


@dataclass(slots=True, kw_only=True)
class SoakResult:
    """What a soak saw; ``seconds``: of the steady load alone."""

    plan: SoakPlan
    capacity_per_s: float = 0.0
    rate_per_s: float = 0.0
    seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    report: Report | None = None


def soak(plan: SoakPlan, command: str, say: Callable[[str], None]) -> SoakResult:
    """Run a soak; Ctrl-C ends the load, and what was seen until then is judged."""
    result, began = SoakResult(plan=plan), time.monotonic()
    with world(_plan(plan, CAPACITY_EVENTS, faults=0), say) as found:
        await_start(found, say)
        parts = run_of(found, say)
        try:
            result.capacity_per_s = _capacity(parts)
            result.rate_per_s = round(plan.load * result.capacity_per_s, 1)
            say(f"capacity {result.capacity_per_s:.1f} events/s; publishing {result.rate_per_s} a second")
            _load(parts, result)
        except KeyboardInterrupt:
            parts.interrupted = True
            say("interrupted: what was seen until now is judged")
        finally:
            found.stopping.set()  # no thread may start a server again while the world is taken down
        heal(parts)
        settle(parts)
        result.report = judged(parts, observed(parts), command, time.monotonic() - began)
    return result


def _plan(plan: SoakPlan, events: int, faults: int, rate_per_s: float = 0.0) -> Plan:
    return Plan(
        events=events,
        workers=plan.workers,
        seed=plan.seed,
        counts=dict.fromkeys(SURVIVABLE, faults) if faults else {},
        rate_per_s=rate_per_s,
        warm_counts=dict.fromkeys(SURVIVABLE, WARM_FAULTS) if faults else {},
        warm_share=WARM_SHARE,
    )


def _capacity(parts: Run) -> float:
    """Events a second that the fleet finishes while it always has more to do."""
    publisher, backlog = parts.publisher, parts.world.plan.backlog
    publisher.thread.start()
    progress = Progress(parts)
    first: tuple[float, int] | None = None
    last = (0.0, 0)
    while publisher.thread.is_alive() and not progress.is_missing():
        time.sleep(LOOK_S)
        look_after(parts)
        published = len(publisher.ledger.entries)
        if published > backlog:
            last = (time.monotonic(), published - unfinished_entries(parts.world))
            first = first or last
    if first is None or last[1] <= first[1]:
        raise RuntimeError("the capacity could not be measured: nothing was finished under a full backlog")
    return (last[1] - first[1]) / (last[0] - first[0])


def _load(parts: Run, result: SoakResult) -> None:
    """Publish at the rate under faults, and take samples."""
    plan, before = result.plan, len(parts.publisher.ledger.entries)
    seconds = plan.hours * 3_600
    events = before + int(seconds * result.rate_per_s)
    parts.world.plan = _plan(plan, events, plan.faults, result.rate_per_s)
    parts.world.until(lambda: unfinished_entries(parts.world) <= DRAINED, DRAIN_S, 1.0)
    publisher = parts.publisher = Publisher(parts.world, lambda: False, parts.publisher.ledger)
    parts.injector = Injector(
        parts.world, parts.recoveries, parts.review_client, lambda: len(publisher.ledger.entries)
    )
    began = next_s = time.monotonic()
    progress = Progress(parts)
    for thread in (publisher.thread, *parts.injector.threads):
        thread.start()
    while publisher.thread.is_alive() and time.monotonic() - began < MOST_LONGER * seconds:
        time.sleep(LOOK_S)
        look_after(parts)
        if time.monotonic() >= next_s:
            next_s += plan.sample_s
            at_s, published = time.monotonic() - began, len(publisher.ledger.entries) - before
            result.samples.append(Sample(at_s=at_s, published=published, figures=take(parts.world)))
        result.seconds = time.monotonic() - began
        if progress.is_missing():
            return
