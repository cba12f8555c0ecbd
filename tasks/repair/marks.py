"""Marks of the outgoing streams prove that an entry was sent, also after a reader deleted the entry."""

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
"""Rows within this time of the life of marks are left out: a missing mark proves nothing there."""

CLOCKS: Final = timedelta(seconds=5)
"""The clocks of Redis and Postgres may differ by so much."""


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
        at: when Redis had its first key again.
        unmarked: entries of the time before, all sent, none with a mark.
        newest: when the last of them was sent.
    """

    at: datetime
    unmarked: int
    newest: datetime


async def without_emptied(
    context: RepairContext, stream: str, sent: Sequence[AnySent], found: Sequence[bool]
) -> tuple[list[AnySent], Emptied | None]:
    """The entries without a mark, and whether Redis came back empty.

    Unless a person chose the start, entries sent before Redis came back are left out: their readers have read
    these entries, and would get them a second time.
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
    """Whether each key of a mark exists."""
    found: list[bool] = []
    for first in range(0, len(keys), PAGE):
        pipe = redis.pipeline(transaction=False)
        for key in keys[first : first + PAGE]:
            pipe.exists(key)
        found += map(bool, await pipe.execute())
    return found
