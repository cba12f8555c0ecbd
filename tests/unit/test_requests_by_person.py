"""Requests of one person are limited; other people's requests do not wait for them."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest

from review.http.visit import AT_ONCE, WAITING
from worker.places import NoPlace, PlacesByKey

KIM, LEE = uuid4(), uuid4()


async def test_requests_are_limited_per_person() -> None:
    """Requests above the limit wait, then are refused; nothing is left behind."""
    limit, gate, inside = PlacesByKey(AT_ONCE, most_waiting=WAITING), asyncio.Event(), []

    async def ask(person: UUID) -> None:
        async with limit.of(person):
            inside.append(person)
            await gate.wait()

    asked = [asyncio.ensure_future(ask(KIM)) for _ in range(AT_ONCE + WAITING)]
    asked.append(asyncio.ensure_future(ask(LEE)))
    for _ in range(5):
        await asyncio.sleep(0)
    begun = list(inside)
    with pytest.raises(NoPlace):
        await ask(KIM)
    gate.set()
    await asyncio.gather(*asked)

    assert begun == [KIM] * AT_ONCE + [LEE]
    assert inside.count(KIM) == AT_ONCE + WAITING
    assert limit._places == {}
