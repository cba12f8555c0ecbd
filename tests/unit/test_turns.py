"""One person's requests take turns; other people's do not wait for them."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest

from review.turns import AT_ONCE, WAITING, TooManyAtOnce, Turns

KIM, LEE = uuid4(), uuid4()


async def test_a_person_has_a_few_turns_and_others_have_their_own() -> None:
    """Whoever asks for too much waits, then is refused; nothing is left behind."""
    turns, gate, inside = Turns(), asyncio.Event(), []

    async def ask(person: UUID) -> None:
        async with turns.of(person):
            inside.append(person)
            await gate.wait()

    asked = [asyncio.ensure_future(ask(KIM)) for _ in range(AT_ONCE + WAITING)]
    asked.append(asyncio.ensure_future(ask(LEE)))
    for _ in range(5):
        await asyncio.sleep(0)
    begun = list(inside)
    with pytest.raises(TooManyAtOnce):
        await ask(KIM)
    gate.set()
    await asyncio.gather(*asked)

    assert begun == [KIM] * AT_ONCE + [LEE]
    assert inside.count(KIM) == AT_ONCE + WAITING
    assert turns._lines == {}
