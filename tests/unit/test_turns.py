"""Turns on the event loop, and the plan of a READ."""

from __future__ import annotations

import asyncio
import time

import pytest

from tasks.fairness.admission import Admission
from tasks.fairness.shares import account_key
from worker.places import Places
from worker.turns import SLICE_S, Turns, beside

STEP_S = SLICE_S * 2
LANES, STEPS = 8, 5


async def busy(steps: int = STEPS) -> int:
    """Work of several steps, each longer than a slice."""
    for _ in range(steps):
        until_s = time.perf_counter() + STEP_S
        while time.perf_counter() < until_s:
            pass
        await asyncio.sleep(0)
    return steps


async def iterations_while(tasks: list[asyncio.Task[int]]) -> int:
    """Iterations of the event loop until all tasks have ended."""
    count = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        count += 1
    return count


@pytest.mark.parametrize("others", [True, False])
async def test_one_step_of_a_busy_account_runs_between_those_of_others(*, others: bool) -> None:
    """Without lanes of another account all steps that can run do, as nothing waits for them."""
    turns = Turns(few=1, now_s=time.perf_counter)
    if others:
        turns.begin("other", busy()).close()
    turns.begin("busy", busy()).close()
    lanes = [asyncio.create_task(turns.begin("busy", busy())) for _ in range(LANES)]
    iterations = await iterations_while(lanes)

    assert (iterations >= LANES * STEPS) is others
    assert [await lane for lane in lanes] == [STEPS] * LANES


async def test_tasks_beside_an_event_have_its_turns() -> None:
    """A step ahead costs as much as one of the event itself."""
    turns = Turns(few=1, now_s=time.perf_counter)
    turns.begin("other", busy()).close()

    async def event() -> int:
        return sum(await asyncio.gather(*(asyncio.create_task(beside(busy(1))) for _ in range(LANES))))

    turns.begin("busy", busy()).close()
    lane = asyncio.create_task(turns.begin("busy", event()))
    iterations = await iterations_while([lane])

    assert iterations >= LANES
    assert await lane == LANES


async def test_a_lane_that_waits_for_its_turn_can_be_cancelled() -> None:
    """Its work gets the cancellation, and the other lanes their turns."""
    turns = Turns(few=1, now_s=time.perf_counter)
    begun = asyncio.Barrier(4)
    ended: list[int] = []
    turns.begin("other", busy()).close()
    turns.begin("busy", busy()).close()

    async def lane(number: int) -> int:
        try:
            await begun.wait()
            return await busy()
        finally:
            ended.append(number)

    tasks = [asyncio.create_task(turns.begin("busy", lane(number))) for number in range(3)]
    await begun.wait()
    tasks.append(asyncio.create_task(turns.begin("busy", lane(3))))  # ends before its first step
    for task in tasks[2:]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert results[:2] == [STEPS, STEPS]
    assert [type(each) for each in results[2:]] == [asyncio.CancelledError] * 2
    assert sorted(ended) == [0, 1, 2]


async def test_an_account_whose_lanes_have_ended_waits_for_none() -> None:
    """The counts of accounts return to nothing."""
    turns = Turns(few=1, now_s=time.perf_counter)
    turns.begin("other", busy()).close()
    lanes = [asyncio.create_task(turns.begin("busy", busy(1))) for _ in range(2)]
    turns.ended("other")

    assert turns.turn() is None
    assert sum([await lane for lane in lanes]) == 2


def test_the_plan_keeps_one_place_in_ten_free() -> None:
    """Accounts with many lanes share what is free beyond those; held accounts are limited by their key."""
    places = Places(100)
    places.take(85)
    reserved = places.reserve(256)
    plan = Admission(places, read_ahead=7, open_lanes=lambda: {"u": 3}).plan(reserved)

    assert (reserved, plan.shared, plan.few, plan.most_admitted) == (15, 5, 2, 7)
    assert plan.limited == ((account_key("u"), 3),)
