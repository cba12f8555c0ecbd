"""Ending background tasks for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Final, TypeVar

CANCEL_AGAIN_S: Final = 1.0
"""Pause between two cancellations of the same task; an orderly ``finally`` takes less."""


Value = TypeVar("Value")


async def all_of(calls: Iterable[Coroutine[Any, Any, Value]]) -> list[Value]:
    """The results of calls that run at once; the first error ends the others before it is raised."""
    every = list(calls)
    if len(every) == 1:
        return [await every[0]]
    tasks = [asyncio.ensure_future(call) for call in every]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await cancel_all(tasks)


async def cancel_all(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks until every one of them has ended; their results and errors are dropped.

    One cancellation is not enough: a client that is cancelled while it connects or reads may raise its own
    ConnectionError instead of CancelledError (seen with redis-py 8), and a loop that survives connection
    errors then goes on for ever.
    """
    every = frozenset(tasks)
    while pending := [task for task in every if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*every, return_exceptions=True)  # marks errors as seen
