"""The plan of a run: how much is published, and which fault comes when; the seed decides all of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from chaos.kinds import JOB_SIGNALS, PROCESS_SIGNALS, FaultKind

LAST_AT: Final = 0.97
"""The last fault comes when this share of the events is published."""


class FaultThread(StrEnum):
    """Faults of one thread come one after the other, those of the two threads overlap."""

    PROCESSES = "processes"
    SURROUNDINGS = "surroundings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run does.

    Attributes:
        events: published at least; further ones come while faults do.
        backlog: unfinished entries at which publishing pauses.
        rate_per_s: accepted entries a second; 0: as many as the backlog allows.
        counts: how often each kind of fault is injected, over the whole load.
        warm_counts: how often each kind comes besides, within the first ``warm_share`` of the load.
        ttl_s: life of a worker's heartbeat.
        fault_s: longest duration of a fault that lasts.
        disk_mb: size of the disk of Postgres and Valkey, in memory; 0: the folder for temporary files.
    """

    events: int
    workers: int
    seed: int
    counts: Mapping[FaultKind, int]
    backlog: int = 2_000
    rate_per_s: float = 0.0
    ttl_s: int = 2
    fault_s: float = 4.0
    disk_mb: int = 0
    patience_s: float = 120.0
    shards: int = 1
    warm_counts: Mapping[FaultKind, int] = field(default_factory=dict)
    warm_share: float = 0.0

    @property
    def planned(self) -> Counter[FaultKind]:
        """How often each kind of fault is injected in all."""
        return Counter(self.counts) + Counter(self.warm_counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledFault:
    """A fault and when it comes: after so many published events."""

    kind: FaultKind
    after: int


def schedule(plan: Plan) -> dict[FaultThread, tuple[ScheduledFault, ...]]:
    """The faults of each thread, spread evenly over the load, with a jitter drawn from the seed."""
    rng = random.Random(plan.seed)
    found: dict[FaultThread, list[ScheduledFault]] = {thread: [] for thread in FaultThread}
    for counts, until in ((plan.counts, LAST_AT), (plan.warm_counts, plan.warm_share)):
        for kind, count in sorted(counts.items()):
            for number in range(count):
                share = (number + rng.random()) / count * until
                found[thread_of(kind)].append(ScheduledFault(kind=kind, after=int(share * plan.events)))
    return {
        thread: tuple(sorted(scheduled, key=lambda each: each.after)) for thread, scheduled in found.items()
    }


def thread_of(kind: FaultKind) -> FaultThread:
    """The thread that injects a kind of fault."""
    is_process = kind in PROCESS_SIGNALS | JOB_SIGNALS or kind is FaultKind.CUT_OFF_KILL
    return FaultThread.PROCESSES if is_process else FaultThread.SURROUNDINGS
