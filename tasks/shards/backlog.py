"""The figures of the streams of events, for one shard and for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, ResponseError

from tasks.shards.layout import ShardLayout, ShardStream, layout_key, layout_of


async def load_layout(redis: Redis, stream: str) -> ShardLayout:
    """The layout now.

    Raises:
        RedisError: Redis did not answer.
    """
    stored: Any = await redis.get(layout_key(stream))
    return layout_of(stream, stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardBacklog:
    """One shard.

    Attributes:
        accepted: entries ever added.
        unfinished: entries that have no outcome yet.
        vanished: entries that another client deleted.
    """

    accepted: int
    unfinished: int
    ready_lanes: int
    workers: int
    vanished: int


async def stream_info(redis: Redis, found: ShardStream) -> dict[str, Any]:
    """XINFO STREAM of a shard; without entries for a new shard."""
    try:
        info: Any = await redis.xinfo_stream(found.key)
    except NoPermissionError:
        raise  # an unknown number of entries is not none
    except ResponseError:
        return {"entries-added": 0, "length": 0, "first-entry": None}
    return dict(info)


async def shard_backlog(redis: Redis, found: ShardStream) -> ShardBacklog:
    """The figures of one shard; zeros for a new shard."""
    info = await stream_info(redis, found)
    prefix = found.shard.prefix
    return ShardBacklog(
        accepted=int(info["entries-added"]),
        unfinished=int(info["length"]),
        ready_lanes=int(await redis.zcard(f"{prefix}queue")),
        workers=int(await redis.scard(f"{prefix}workers")),
        vanished=int(await redis.get(f"{prefix}vanished") or 0),
    )


async def backlog(redis: Redis, stream: str) -> dict[str, int]:
    """The figures over all shards, also of those that were doubled; workers: the most of any shard."""
    layout = await load_layout(redis, stream)
    found = [await shard_backlog(redis, each) for each in layout.streams()]
    return {
        "accepted": sum(each.accepted for each in found),
        "unfinished": sum(each.unfinished for each in found),
        "ready_lanes": sum(each.ready_lanes for each in found),
        "workers": max(each.workers for each in found),
        "vanished": sum(each.vanished for each in found),
    }
