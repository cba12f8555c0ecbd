"""The events that came after one of a conversation, read from its lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import structlog
from redis.exceptions import RedisError

from db.commits.known import decided_events
from db.pool import Pool
from tasks.lanes.entry_events import event_of
from tasks.lanes.stream import Lanes, WaitingEntry
from tasks.shards.lanes import ShardedLanes
from tasks.shards.layout import lane_of
from worker.batched_calls import BatchedCall, call_batched
from worker.errors import PayloadRejected
from worker.model import Event, NewerEvent

log = structlog.get_logger(__name__)


async def _newer(
    lanes: Lanes | ShardedLanes, asked: Sequence[tuple[str, str]]
) -> list[tuple[WaitingEntry, ...]]:
    return await lanes.newer_of_several(asked)


NEWER: Final = BatchedCall(together=_newer)


class LaneArrivals:
    """``worker.ports.Arrivals`` over the lanes.

    Repetitions of an event and payloads that cannot become an event are left out: they are never answered,
    so nothing may wait for them.

    Args:
        now: the wall clock.
    """

    def __init__(
        self,
        lanes: Lanes | ShardedLanes,
        pool: Pool,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._lanes = lanes
        self._pool = pool
        self._now = now

    async def newer(self, event: Event) -> tuple[NewerEvent, ...]:
        """The events that wait behind this one; none while Redis is away, as nothing can then be read.

        Raises:
            StorageUnavailable: whether they were decided before could not be read; safe to repeat.
        """
        try:
            lane = lane_of(event.user_id, event.conversation_id)
            rows = await call_batched(self._lanes, NEWER, (event.entry_id, lane))
        except (RedisError, OSError) as error:
            log.warning("newer_events_unknown", entry_id=event.entry_id, error=type(error).__name__)
            return ()
        found = [each for each in map(self._newer, rows) if each and each.event_id != event.event_id]
        if not found:
            return ()
        decided = await decided_events(self._pool, event.user_id, event.conversation_id, found)
        return tuple(each for each in found if each.event_id not in decided)

    def _newer(self, entry: WaitingEntry) -> NewerEvent | None:
        try:
            event = event_of(entry, self._now())
        except PayloadRejected:
            return None
        return NewerEvent(
            event_id=event.event_id,
            type=event.type,
            message_id=event.message_id,
            author_id=event.author_id,
            received_at=event.received_at,
        )
