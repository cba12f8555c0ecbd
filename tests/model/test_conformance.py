"""The Lua on a real server takes only steps that the model has."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from tasks.lanes import stream
from tasks.shards.clients import connect
from tests.model.kinds import Kind, Step
from tests.model.real_lanes import ACCOUNTS, RealLanes, seen
from tests.model.states import Run, State, start
from tests.model.steps import Model

WALKS = 30
STEPS = 60
MODEL = Model(entries=4)
MAY_END_AS = {Kind.FINISH: Kind.FINISH_END, Kind.FINISH_LOST: Kind.FINISH_END}
"""FINISH decides whether the lane is kept: its place may be due to another account."""


@pytest.fixture
async def redis(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Redis]:
    """A client of the empty server, on which REPAIR looks at young entries too."""
    monkeypatch.setattr(stream, "IDLE_BEFORE_REPAIR_MS", 0)
    async with connect(redis_url) as client:
        yield client


def allowed(state: State, step: Step) -> Iterator[State]:
    """The states of the model to which the server may come by a step."""
    kinds = {step.kind, MAY_END_AS.get(step.kind, step.kind)}
    for other, after in MODEL.steps(state):
        if other.kind in kinds and other[1:] == step[1:]:
            yield after


async def follow(lanes: RealLanes, state: State, step: Step) -> State:
    """Take a step on the server; the state of the model in which it is now."""
    await lanes.perform(step)
    found = await lanes.look()
    matching = [after for after in allowed(state, step) if seen(after) == found]

    assert matching, (
        f"{step}\nfrom {state}\nto {found}\nmodel {[seen(each) for each in allowed(state, step)]}"
    )

    after = matching[0]
    lanes.forget_lost_runs(after)
    for number, worker in enumerate(after.workers):
        for at, hold in enumerate(worker.holds):
            expected = None if not hold or hold == Run() else hold.entry
            assert lanes.run_of(number, at) == expected, f"{step}\nfrom {state}\nto {after}"
    return after


@pytest.mark.parametrize("accounts", ACCOUNTS, ids=["one account", "two accounts"])
async def test_random_walks_stay_within_the_model(redis: Redis, accounts: tuple[str, str]) -> None:
    """After each step lanes, queue, owners and signs of life are those of a state that the model allows."""
    counts: Counter[Kind] = Counter()
    for seed in range(WALKS):
        chance = random.Random(seed)
        lanes, state = RealLanes(redis, 3, accounts), start(3)
        await lanes.start()
        for _ in range(STEPS):
            by_kind: dict[Kind, list[Step]] = {}
            for step, _after in MODEL.steps(state):
                by_kind.setdefault(step.kind, []).append(step)
            kind = min(chance.sample(sorted(by_kind), min(2, len(by_kind))), key=counts.__getitem__)
            counts[kind] += 1
            state = await follow(lanes, state, chance.choice(by_kind[kind]))

    assert set(counts) == set(Kind)
