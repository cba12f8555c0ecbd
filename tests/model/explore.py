"""Explores every state of the model and checks the invariants; the shortest trace to a breach of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tests.model.states import State, canonical, start
from tests.model.steps import HEALTHY, Kind, Model, Step


def _in_order(state: State) -> bool:
    return all(lane.rows & lane.rows + 1 == 0 for lane in state.lanes)


def _once(state: State) -> bool:
    return not any(lane.twice for lane in state.lanes)


def _one_owner(state: State) -> bool:
    return all(len(state.owners(at)) <= 1 for at in range(2))


def _nothing_lost(state: State) -> bool:
    """Each entry is unread in the stream, or read and in its lane, or deleted with a row."""
    return all(
        (lane.stream | lane.rows) + 1 == 1 << lane.published and state.read_of(at) == lane.waiting
        for at, lane in enumerate(state.lanes)
    )


def _found_again(state: State) -> bool:
    """A lane with entries has an owner, or stands in the queue."""
    return all(not lane.waiting or lane.queued or state.owners(at) for at, lane in enumerate(state.lanes))


INVARIANTS: Mapping[str, Callable[[State], bool]] = {
    "the entries of a conversation get their rows in order": _in_order,
    "an entry gets one row": _once,
    "a lane has one owner": _one_owner,
    "no entry is lost": _nothing_lost,
    "a lane with entries is owned or queued": _found_again,
}
ENDS = "from every state all entries can end without a further fault"


def ended(state: State) -> bool:
    """Every published entry has its row and is deleted."""
    return not any(lane.stream for lane in state.lanes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What was found.

    Attributes:
        states: number of states, up to the names of workers and conversations.
        steps: number of steps between them, by kind.
        broken: the invariant that does not hold; empty when all hold.
        trace: the shortest way to the state that breaks it.
    """

    states: int
    steps: Mapping[Kind, int]
    broken: str = ""
    trace: tuple[Step, ...] = ()


def explore(workers: int, model: Model) -> Exploration:
    """Visit every state, nearest first."""
    first = canonical(start(workers))
    numbers: dict[State, int] = {first: 0}
    states, came_from = [first], [0]
    healthy: list[list[int]] = [[]]
    counts: Counter[Kind] = Counter()

    def trace(number: int) -> tuple[Step, ...]:
        way: list[State] = []
        while number:
            way.append(states[number])
            number = came_from[number]
        return replayed(workers, model, reversed(way))

    for at, state in enumerate(states):  # grows while it is read
        for step, reached in model.steps(state):
            counts[step.kind] += 1
            if reached == state:
                continue
            after = canonical(reached)
            number = numbers.setdefault(after, len(states))
            if number == len(states):
                states.append(after)
                came_from.append(at)
                healthy.append([])
                if broken := next((name for name, holds in INVARIANTS.items() if not holds(after)), ""):
                    return Exploration(states=len(states), steps=counts, broken=broken, trace=trace(number))
            if number != at and _is_healthy(step, state):
                healthy[number].append(at)
    stuck = _stuck((number for number, state in enumerate(states) if ended(state)), healthy)
    broken = ENDS if stuck is not None else ""
    return Exploration(states=len(states), steps=counts, broken=broken, trace=trace(stuck or 0))


def replayed(workers: int, model: Model, way: Iterable[State]) -> tuple[Step, ...]:
    """The steps along representatives of states, with names that stay the same."""
    state, found = start(workers), []
    for target in way:
        step, state = next(each for each in model.steps(state) if canonical(each[1]) == target)
        found.append(step)
    return tuple(found)


def _is_healthy(step: Step, state: State) -> bool:
    return step.kind in HEALTHY or (step.kind is Kind.EXPIRE and not state.workers[step.worker].process)


def _stuck(ends: Iterable[int], healthy: list[list[int]]) -> int | None:
    """The first state from which no healthy steps lead to an end."""
    open_states = list(ends)
    reaches = set(open_states)
    while open_states:
        for before in healthy[open_states.pop()]:
            if before not in reaches:
                reaches.add(before)
                open_states.append(before)
    return next((number for number in range(len(healthy)) if number not in reaches), None)
