"""Whether events wait for workers, so that shadows have to."""

from __future__ import annotations

from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.lanes.stream import GROUP
from tasks.shards.backlog import load_layout

log = structlog.get_logger(__name__)

MOST_WAITING: Final = 100
"""Conversations and entries that may wait for a place of a worker while shadows decide."""


async def is_loaded(redis: Redis, stream: str) -> bool:
    """Whether more than ``MOST_WAITING`` wait; True also while Redis does not answer."""
    try:
        return await _waiting(redis, stream) > MOST_WAITING
    except (RedisError, OSError) as error:
        log.warning("shadow_load_unknown", error=type(error).__name__)
        return True


async def _waiting(redis: Redis, stream: str) -> int:
    waiting = 0
    for place in (await load_layout(redis, stream)).streams():
        pipe = redis.pipeline(transaction=False)
        pipe.zcard(f"{place.shard.prefix}queue")
        pipe.xlen(place.key)
        pipe.xpending(place.key, GROUP)
        lanes, entries, read = await pipe.execute(raise_on_error=False)
        waiting += lanes if isinstance(lanes, int) else 0
        if isinstance(entries, int) and isinstance(read, dict):
            waiting += max(0, entries - int(read["pending"]))
    return waiting
