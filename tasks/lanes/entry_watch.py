"""Waiting for a new entry of the stream, beside other reasons to look again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from tasks.lanes.stream import Lanes
from worker.cancellation import cancel_all


class EntryWatch:
    """One blocking XREAD that lasts over several waits: cancelling it would cost its connection."""

    def __init__(self, lanes: Lanes, block_ms: int) -> None:
        self._lanes = lanes
        self._block_ms = block_ms
        self._arrival: asyncio.Future[None] | None = None

    async def wait(self, last_id: str, woken: asyncio.Event, *others: Coroutine[Any, Any, Any]) -> None:
        """Return when an entry newer than ``last_id`` is there, another wait ends, or after ``block_ms``.

        ``woken`` ends the wait too, and is cleared: a task of its own for it would delay each entry.

        Raises:
            RedisError: the connection failed.
        """
        if self._arrival is None:
            waiting = self._lanes.wait_for_entries(last_id, self._block_ms)
            self._arrival = asyncio.ensure_future(waiting)
            self._arrival.add_done_callback(lambda _: woken.set())
        tasks = [asyncio.ensure_future(each) for each in others]
        for task in tasks:
            task.add_done_callback(lambda _: woken.set())
        try:
            await woken.wait()
        finally:
            await cancel_all(tasks)
        woken.clear()
        if self._arrival.done():
            arrival, self._arrival = self._arrival, None
            arrival.result()

    async def close(self) -> None:
        """End the XREAD."""
        if self._arrival is not None:
            await cancel_all([self._arrival])
