"""The in-flight limit that the engines of one worker share."""

from __future__ import annotations

import asyncio

from tasks.places import Places


async def test_engines_share_the_limit() -> None:
    """Reserved places count until they are given back, and no READ gets more than its part."""
    places = Places(10, engines=3)

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
