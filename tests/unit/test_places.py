"""The in-flight limit that the engines of one worker share."""

from __future__ import annotations

import asyncio

import pytest

from worker.places import NoPlace, Places


async def test_engines_share_the_limit() -> None:
    """Reserved places count until they are given back, and no READ gets more than its part."""
    places = Places(10, sharers=3)

    reserved = [places.reserve(256) for _ in range(4)]
    places.give_back(3)

    assert reserved == [4, 4, 2, 0]
    assert (places.taken, places.reserve(5)) == (7, 3)


async def test_one_engine_may_take_every_place() -> None:
    """An engine that shares its places with none reserves all of them at once."""
    places = Places(7)

    assert (places.reserve(256), places.reserve(1)) == (7, 0)


async def test_places_above_the_limit_admit_nothing() -> None:
    """Lanes that run on after an outage count, and nothing is admitted before places are free again."""
    places = Places(4)
    places.take(6)

    assert places.reserve(1) == 0

    places.give_back(3)

    assert places.reserve(9) == 1


async def test_a_freed_place_wakes_every_engine() -> None:
    """All waiting engines look again when one place is given back; without one they wait until the limit."""
    places = Places(1)
    places.take()
    waiting = [asyncio.create_task(places.wait(30.0)) for _ in range(3)]
    await asyncio.sleep(0)

    places.give_back()

    assert await asyncio.gather(*waiting) == [True] * 3
    assert not await places.wait(0.001)


async def test_a_wait_that_ends_early_leaves_its_turn_to_the_next() -> None:
    """A cancelled or late wait takes no place, also when it was given one at that moment."""
    places, order = Places(1), list[str]()

    async def call(name: str) -> None:
        async with places.place():
            order.append(name)

    places.take()
    waits = [asyncio.create_task(call(name)) for name in ("cancelled", "given", "last")]
    await asyncio.sleep(0)
    waits[0].cancel()
    await asyncio.sleep(0)
    places.give_back()
    waits[1].cancel()  # its place was just given to it
    await asyncio.gather(*waits, return_exceptions=True)

    assert order == ["last"]
    assert (places.taken, places.waiting) == (0, 0)


async def test_no_more_wait_than_may() -> None:
    """A wait beyond ``most_waiting``, or beyond its time, is refused at once, or then."""
    places = Places(1, wait_s=0.01, most_waiting=1)
    async with places.place():
        first = asyncio.create_task(places.place().__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(NoPlace, match="wait for one of 1"):
            await places.place().__aenter__()
        with pytest.raises(NoPlace, match="were taken"):
            await first

    assert (places.taken, places.waiting) == (0, 0)
