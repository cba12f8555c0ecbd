"""Ending background tasks: also those that swallow a cancellation."""

from __future__ import annotations

import asyncio

import pytest

from worker import cancellation
from worker.cancellation import all_of, cancel_all


async def test_a_task_that_swallows_two_cancellations_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that turns a cancellation into its own error does not keep a loop alive."""
    monkeypatch.setattr(cancellation, "CANCEL_AGAIN_S", 0.01)
    swallowed = 0

    async def survives_errors() -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if swallowed == 2:
                    raise
                swallowed += 1

    task = asyncio.create_task(survives_errors())
    await asyncio.sleep(0)

    await asyncio.wait_for(cancel_all([task]), 5)

    assert (swallowed, task.cancelled()) == (2, True)


async def test_ended_and_failing_tasks_are_no_trouble() -> None:
    """Nothing is raised for a task that has ended, or that fails while it ends."""

    async def fails_on_the_way_out() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            raise ValueError

    ended = asyncio.create_task(asyncio.sleep(0))
    failing = asyncio.create_task(fails_on_the_way_out())
    await asyncio.sleep(0)

    await cancel_all([ended, failing])
    await cancel_all([])

    assert isinstance(failing.exception(), ValueError)


async def test_an_error_ends_the_other_calls_before_it_is_raised() -> None:
    """No call goes on, and is paid for, after its result has no use."""
    ended = []

    async def long() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("long")

    async def failing() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await all_of([long(), failing()])

    assert ended == ["long"]


async def test_results_have_the_order_of_the_calls() -> None:
    """Not the order in which they end."""

    async def after(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    assert await all_of([after(3), after(1)]) == [3, 1]
