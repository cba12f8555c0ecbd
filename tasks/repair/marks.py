"""What the marks of the outgoing streams prove: an entry was sent, also where a reader deleted it since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from redis.asyncio import Redis

from db.repair.finding import Window
from tasks.once_stream import MARK_TTL_S
from tasks.repair.context import RepairContext

PAGE: Final = 500
MARGIN: Final = timedelta(hours=12)
"""A mark ends before its row is so old; a row near that age proves nothing."""


def window_of_marks(context: RepairContext) -> Window:
    """The rows whose marks exist if their entries were sent."""
    since = max(context.since, context.now - timedelta(seconds=MARK_TTL_S) + MARGIN)
    return Window(since=since, until=context.window.until, limit=context.limit)


async def existing(redis: Redis, keys: Sequence[str]) -> list[bool]:
    """Of each key of a mark whether it exists."""
    found: list[bool] = []
    for first in range(0, len(keys), PAGE):
        pipe = redis.pipeline(transaction=False)
        for key in keys[first : first + PAGE]:
            pipe.exists(key)
        found += map(bool, await pipe.execute())
    return found
