"""What can happen in the model, and the mistakes that can be planted in it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tests.model.states import UNKNOWN


class Kind(StrEnum):
    """What happens in a step."""

    PUBLISH = "PUBLISH"
    READ = "READ"
    RECORD = "Postgres: RECORD"
    FINISH = "FINISH, next entry granted"
    FINISH_END = "FINISH, lane released"
    RELEASE = "RELEASE"
    AUDIT = "AUDIT, lanes of lost replies released"
    REAP = "REAP"
    REPAIR = "REPAIR"
    HEARTBEAT = "HEARTBEAT"
    RESTART = "a new process starts"
    CRASH = "the process is killed"
    EXPIRE = "its heartbeat ends"
    FORGET = "a reply with a grant is lost"
    RECORD_LOST = "Postgres: RECORD, the reply is lost"
    FINISH_LOST = "FINISH, next entry granted, the reply is lost"
    FINISH_LATE = "a repeated FINISH is executed late and releases the lane"
    STALE_RECORD = "Postgres: RECORD by a run without ownership"
    STALE_FINISH = "FINISH by a run without ownership"


HEALTHY = frozenset({
    Kind.READ, Kind.RECORD, Kind.FINISH, Kind.FINISH_END, Kind.AUDIT, Kind.REAP, Kind.REPAIR, Kind.HEARTBEAT,
    Kind.RESTART,
})  # fmt: skip
"""Steps that a fleet takes without a fault; EXPIRE belongs to them when the process does not run."""


class Breach(StrEnum):
    """A planted mistake, each of which breaks an invariant."""

    NEWEST_FIRST = "READ grants the newest entry of a lane, not its head"
    NO_KEY = "Postgres has no key for an event"
    OWNED_TAKEN = "READ grants a lane whose owner lives"
    UNFENCED = "FINISH does not compare the ownership"
    FINISH_FIRST = "FINISH before Postgres has the row"
    UNQUEUED = "REAP does not queue the lanes that it frees"
    UNAUDITED = "lanes of lost replies are never released"


class Step(NamedTuple):
    """One step; ``detail`` is the READ's numbers or the entry of a stale run."""

    kind: Kind
    worker: int = UNKNOWN
    lane: int = UNKNOWN
    detail: tuple[int, ...] = ()

    def __str__(self) -> str:
        who = f"worker {self.worker}: " if self.worker >= 0 else ""
        where = f", conversation {self.lane}" if self.lane >= 0 else ""
        if self.kind is Kind.READ:
            where = f" up to {self.detail[0]} grants, {self.detail[1]} entries ahead"
        elif self.detail:
            where += f", entry {self.detail[0]}"
        return f"{who}{self.kind}{where}"
