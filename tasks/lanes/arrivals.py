"""The events that came after one of a conversation, read from its lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog
from redis.exceptions import RedisError

from db.commits.stored_event import decided_events
from db.pool import Pool
from tasks.lanes.stream import Lanes
from tasks.shards.lanes import ShardedLanes
from tasks.shards.layout import lane_of
from worker.batched_calls import BatchedCall, call_batched
from worker.model import Event, EventType, NewerEvent

log = structlog.get_logger(__name__)


async def _newer(lanes: Lanes | ShardedLanes, asked: Sequence[tuple[str, str]]) -> list[tuple[Event, ...]]:
    return await lanes.newer_of_several(asked)


NEWER: Final = BatchedCall(together=_newer)


class LaneArrivals:
    """``worker.ports.Arrivals`` over the lanes.

    Repetitions of an event and payloads that cannot become an event are left out: they are never answered,
    so nothing may wait for them.
    """

    def __init__(self, lanes: Lanes | ShardedLanes, pool: Pool) -> None:
        self._lanes = lanes
        self._pool = pool

    async def newer(self, event: Event) -> tuple[NewerEvent, ...]:
        """The events that wait behind this one; none while Redis is away, as nothing can then be read.

        Raises:
            StorageUnavailable: whether they were decided before could not be read; safe to repeat.
        """
        try:
            lane = lane_of(event.user_id, event.conversation_id)
            waiting = await call_batched(self._lanes, NEWER, (event.entry_id, lane))
        except (RedisError, OSError) as error:
            log.warning("newer_events_unknown", entry_id=event.entry_id, error=type(error).__name__)
            return ()
        found = [each for each in waiting if each.event_id != event.event_id]
        if not found:
            return ()
        decided = await decided_events(self._pool, event.user_id, event.conversation_id, found)
        return tuple(
            NewerEvent(
                event_id=each.event_id,
                type=each.type,
                message_id=each.message_id,
                author_id=each.author_id,
                received_at=each.received_at,
                written_at=each.created_at,
                edited_text=each.text if each.type is EventType.MESSAGE_EDITED else "",
            )
            for each in found
            if each.event_id not in decided
        )
