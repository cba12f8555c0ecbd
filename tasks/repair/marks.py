"""What the marks of the outgoing streams prove: an entry was sent, also where a reader deleted it since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

from redis.asyncio import Redis

from db.repair.finding import Window
from tasks.repair.context import RepairContext
from tasks.sending.once_stream import MARK_TTL_S, begun_key

PAGE: Final = 500
MARGIN: Final = timedelta(hours=12)
"""A mark ends before its row is so old; a row near that age proves nothing."""

CLOCKS: Final = timedelta(seconds=5)
"""Entries of so short a time before may be of after: the clocks of Redis and Postgres differ."""


class Sent(Protocol):
    """Something that counts as sent."""

    @property
    def sent_at(self) -> datetime:
        """When."""
        ...


AnySent = TypeVar("AnySent", bound=Sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emptied:
    """Redis came back empty.

    Attributes:
        at: when it had its first key again.
        unmarked: entries of the time before, all sent, none with a mark.
        newest: when the last of them was sent.
    """

    at: datetime
    unmarked: int
    newest: datetime


async def without_emptied(
    context: RepairContext, stream: str, sent: Sequence[AnySent], found: Sequence[bool]
) -> tuple[list[AnySent], Emptied | None]:
    """Those without a mark, and whether Redis came back empty.

    Without a start that a person chose, what was sent before that is left out: its readers have read it, and
    would get it a second time.
    """
    lost = [each for each, is_there in zip(sent, found, strict=True) if not is_there]
    stored = await context.redis.get(begun_key(stream))
    if stored is None:
        return lost, None
    at = datetime.fromtimestamp(int(stored), tz=UTC)
    has_earlier_mark = any(
        is_there for each, is_there in zip(sent, found, strict=True) if each.sent_at < at - CLOCKS
    )
    before = [each.sent_at for each in lost if each.sent_at < at]
    if has_earlier_mark or not before:
        return lost, None
    kept = lost if context.is_chosen else [each for each in lost if each.sent_at >= at]
    return kept, Emptied(at=at, unmarked=len(before), newest=max(before))


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
