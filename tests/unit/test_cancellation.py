"""Ending background tasks: also those that swallow a cancellation."""

from __future__ import annotations

import asyncio

import pytest

from worker import cancellation
from worker.cancellation import cancel_all


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
