"""Waits of events for limits of their account: which leave their places, and which are put back."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from tasks.limits.account_limits import LimitWaits
from tests.support.samples import event
from worker.adapters.system_clock import SystemClock
from worker.moderation_holds import Holds


def waits_of(holds: Holds, entry: str, *, has_called: bool = False) -> LimitWaits:
    """The waits of one event of the account ``u``."""
    waiting = event(user_id="u", entry_id=entry)
    return LimitWaits(event=waiting, holds=holds, clock=SystemClock(), has_called=has_called)


async def until_left(holds: Holds, events: int) -> None:
    """Return when so many events left their places."""
    async with asyncio.timeout(5):
        while holds.events < events:  # noqa: ASYNC110  # holds announce nothing
            await asyncio.sleep(0.01)


async def test_a_wait_leaves_the_place_and_its_end_takes_it_again() -> None:
    """Moderation calls that are held are counted apart."""
    holds, opened = Holds(most=9, most_of_account=9), asyncio.Event()

    async def limit() -> None:
        await opened.wait()

    waiting = asyncio.create_task(waits_of(holds, "1-1").wait(limit()))
    await until_left(holds, 1)
    seen = holds.events, holds.count, holds.open_lanes(0.0)
    opened.set()
    await waiting

    assert seen == (1, 0, {"u": 9})
    assert (holds.events, holds.open_lanes(0.0)) == (0, {})


async def test_a_short_wait_keeps_its_place() -> None:
    """A round trip to Redis is no reason to limit the account, and needs no room."""
    holds = Holds(most=0, most_of_account=0)

    await waits_of(holds, "1-1").wait(asyncio.sleep(0))


async def test_without_room_only_an_event_that_called_no_model_is_put_back() -> None:
    """The wait of the one ends; the other would be paid twice, so it waits on in its place."""
    holds, opened = Holds(most=9, most_of_account=1), asyncio.Event()
    ended = list[str]()

    async def limit(entry: str) -> None:
        try:
            await opened.wait()
        finally:
            ended.append(entry)

    with ExitStack() as stack:
        stack.enter_context(holds.away(event(user_id="u", entry_id="1-1"), now_s=0.0))
        paid = asyncio.create_task(waits_of(holds, "1-2", has_called=True).wait(limit("paid")))
        with pytest.raises(asyncio.CancelledError):
            await waits_of(holds, "1-3").wait(limit("new"))
        before = list(ended), holds.events
        opened.set()
        await paid

    assert before == (["new"], 1)
    assert ended == ["new", "paid"]
