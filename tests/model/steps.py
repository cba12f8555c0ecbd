"""The steps of the model: each script as one atomic step, and what can go wrong between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from tests.model.states import UNKNOWN, Run, State, Worker

READS = ((1, 0), (1, 4), (2, 0), (2, 4))
"""The READs tried: grants wanted, and entries read ahead."""


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


class Model(NamedTuple):
    """The bounds: entries published at most, and a planted mistake or none."""

    entries: int = 4
    breach: Breach | None = None

    def steps(self, state: State) -> Iterator[tuple[Step, State]]:
        """Every step from a state, with each state that it may lead to."""
        if sum(lane.published for lane in state.lanes) < self.entries:
            for number in range(2):
                yield Step(Kind.PUBLISH, lane=number), _published(state, number)
        for number in range(2):
            yield from self._stale_steps(state, number)
        for number, worker in enumerate(state.workers):
            if worker.process:
                yield from self._worker_steps(state, number)
                for lane in range(2):
                    if worker.holds[lane]:
                        yield from self._lane_steps(state, number, lane)
            yield from _fates(state, number)

    def _worker_steps(self, state: State, number: int) -> Iterator[tuple[Step, State]]:
        worker = state.workers[number]
        for detail in READS:
            for after in set(self._read(state, number, *detail)):
                yield Step(Kind.READ, number, detail=detail), after
        yield Step(Kind.REAP, number), self._reaped(state, number)
        yield Step(Kind.REPAIR, number), _repaired(state, number)
        if any(hold == Run() for hold in worker.holds) and self.breach is not Breach.UNAUDITED:
            yield Step(Kind.AUDIT, number), _audited(state, number)
        if not (worker.beats and worker.known):
            renewed = worker._replace(beats=True, known=True)
            yield Step(Kind.HEARTBEAT, number), state.with_worker(number, renewed)

    def _lane_steps(self, state: State, number: int, at: int) -> Iterator[tuple[Step, State]]:
        """What a worker does with the entry that it runs."""
        worker, lane, hold = state.workers[number], state.lanes[at], state.workers[number].holds[at]
        if not hold or hold == Run():
            return
        entry, recorded = hold
        yield Step(Kind.FORGET, number, at), state.with_worker(number, worker.holding(at, Run()))
        if entry:
            yield Step(Kind.FINISH_LATE, number, at), _queued(disowned(state, number, at), at)
        if recorded or self.breach is Breach.FINISH_FIRST:
            yield from _finished(state, number, at)
        if not recorded:
            left = state.with_worker(number, worker.holding(at, ()))
            yield Step(Kind.RELEASE, number, at), _queued(left, at)
            stored = self._recorded(state, at, entry)
            knows = stored.workers[number].holding(at, Run(entry, recorded=True))
            yield Step(Kind.RECORD, number, at), stored.with_worker(number, knows)
            if not lane.rows >> entry & 1:
                yield Step(Kind.RECORD_LOST, number, at), stored

    def _recorded(self, state: State, at: int, entry: int) -> State:
        lane = state.lanes[at]
        twice = lane.twice or (self.breach is Breach.NO_KEY and bool(lane.rows >> entry & 1))
        return state.with_lane(at, lane._replace(rows=lane.rows | 1 << entry, twice=twice))

    def _stale_steps(self, state: State, at: int) -> Iterator[tuple[Step, State]]:
        lane = state.lanes[at]
        for entry in range(lane.published):
            if not lane.stale >> entry & 1:
                continue
            if not lane.rows >> entry & 1 or self.breach is Breach.NO_KEY:
                yield Step(Kind.STALE_RECORD, lane=at, detail=(entry,)), self._recorded(state, at, entry)
            if lane.rows >> entry & 1:
                after = _settled(state.with_lane(at, lane.without(entry)), at)
                if self.breach is Breach.UNFENCED and (head := after.lanes[at].head) >= 0:
                    granted = after.workers[0].holding(at, Run(head))
                    after = after.with_worker(0, granted)
                yield Step(Kind.STALE_FINISH, lane=at, detail=(entry,)), after

    def _read(self, state: State, me: int, wanted: int, ahead: int) -> Iterator[State]:
        """Entries are read ahead, lanes granted, then as many entries read as places are left."""
        before = len(state.unread)
        admitted = _admitted(state, me, ahead)
        read = before - len(admitted.unread)
        for first, granted in self._granted(admitted, me, wanted):
            if granted < wanted and read == ahead:
                for last, _ in self._granted(_admitted(first, me, wanted - granted), me, wanted - granted):
                    yield last
            else:
                yield first

    def _granted(self, state: State, me: int, wanted: int) -> Iterator[tuple[State, int]]:
        """Lanes of the queue granted in any order: which account is next is not modelled."""
        queued = [number for number in range(2) if state.lanes[number].queued]
        if not wanted or not queued:
            yield state, 0
            return
        for at in queued:
            lane = state.lanes[at]
            popped = state.with_lane(at, lane._replace(queued=lane.queued & (lane.queued - 1)))
            free = freed(popped, me, at)
            if free is None and self.breach is Breach.OWNED_TAKEN:
                free = popped
            granted = free is not None and lane.waiting > 0
            if free is not None and granted:
                entry = lane.head if self.breach is not Breach.NEWEST_FIRST else lane.waiting.bit_length() - 1
                free = free.with_worker(me, free.workers[me].holding(at, Run(entry)))
            for after, more in self._granted(free or popped, me, wanted - granted):
                yield after, more + granted

    def _reaped(self, state: State, me: int) -> State:
        for number, worker in enumerate(state.workers):
            if number == me or worker.beats or not worker.known:
                continue
            for at in range(2):
                if worker.holds[at]:
                    state = disowned(state, number, at)
                    state = state if self.breach is Breach.UNQUEUED else _queued(state, at)
            state = state.with_worker(number, state.workers[number]._replace(known=False))
        return state


def disowned(state: State, number: int, at: int) -> State:
    """The lane without its owner, whose run is stale from now on."""
    worker = state.workers[number]
    hold = worker.holds[at]
    if hold and hold.entry >= 0:
        lane = state.lanes[at]
        state = _settled(state.with_lane(at, lane._replace(stale=lane.stale | 1 << hold.entry)), at)
    return state.with_worker(number, worker.holding(at, ()))


def freed(state: State, me: int, at: int) -> State | None:
    """The state in which the lane has no owner; None while its owner counts as alive."""
    for number in state.owners(at):
        if number == me or state.workers[number].beats:
            return None
        state = disowned(state, number, at)
    return state


def _settled(state: State, at: int) -> State:
    """Stale runs of entries that have a row and are deleted can change nothing any more."""
    lane = state.lanes[at]
    return state.with_lane(at, lane._replace(stale=lane.stale & (lane.stream | ~lane.rows)))


def _queued(state: State, at: int) -> State:
    return state.with_lane(at, state.lanes[at].enqueued())


def _published(state: State, at: int) -> State:
    lane = state.lanes[at]
    more = lane._replace(published=lane.published + 1, stream=lane.stream | 1 << lane.published)
    return state.with_lane(at, more)._replace(unread=(*state.unread, at))


def _admitted(state: State, me: int, count: int) -> State:
    for _ in range(min(count, len(state.unread))):
        at, *rest = state.unread
        lane = state.lanes[at]
        entry = lane.published - state.unread.count(at)
        state = state.with_lane(at, lane._replace(waiting=lane.waiting | 1 << entry))
        state = state._replace(unread=tuple(rest))
        if (free := freed(state, me, at)) is not None:
            state = _queued(free, at)
    return state


def _finished(state: State, number: int, at: int) -> Iterator[tuple[Step, State]]:
    hold = state.workers[number].holds[at]
    assert hold
    done = _settled(state.with_lane(at, state.lanes[at].without(hold.entry)), at)
    worker = done.workers[number]
    if done.lanes[at].waiting:
        next_run = worker.holding(at, Run(done.lanes[at].head))
        yield Step(Kind.FINISH, number, at), done.with_worker(number, next_run)
        yield Step(Kind.FINISH_LOST, number, at), done
    yield Step(Kind.FINISH_END, number, at), _queued(done.with_worker(number, worker.holding(at, ())), at)


def _audited(state: State, number: int) -> State:
    for at, hold in enumerate(state.workers[number].holds):
        if hold == Run():
            state = _queued(disowned(state, number, at), at)
    return state


def _repaired(state: State, me: int) -> State:
    for at in range(2):
        lane, read = state.lanes[at], state.read_of(at)
        if read:
            state = state.with_lane(at, lane._replace(waiting=lane.waiting | read))
            if (free := freed(state, me, at)) is not None:
                state = _queued(free, at)
    return state


def _fates(state: State, number: int) -> Iterator[tuple[Step, State]]:
    """What happens to a process and its heartbeat."""
    worker = state.workers[number]
    if worker.beats:
        yield Step(Kind.EXPIRE, number), state.with_worker(number, worker._replace(beats=False))
    if worker.process:
        lost = (Run() if worker.holds[0] else (), Run() if worker.holds[1] else ())
        yield Step(Kind.CRASH, number), state.with_worker(number, worker._replace(process=False, holds=lost))
    elif worker.holds == ((), ()):  # nothing is left of the old one
        yield Step(Kind.RESTART, number), state.with_worker(number, Worker())
