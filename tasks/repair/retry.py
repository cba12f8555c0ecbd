"""A dead letter's payload as a new entry, once."""

from __future__ import annotations

from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, ResponseError

from tasks.shards.backlog import load_layout
from tasks.shards.clients import LuaScript
from tasks.shards.layout import Shard, ShardLayout
from worker.errors import StreamFull, StreamSealed

RETRY: Final = """#!lua
-- RETRY: KEYS[1] stream, KEYS[2] mark; ARGV[1] payload, ARGV[2] seconds that the mark lives, 0: for ever.
-- One script adds the entry and its mark, so that after a crash both exist or neither. Returns the entry.
local made = redis.call('GET', KEYS[2])
if made then return made end
made = redis.call('XADD', KEYS[1], '*', 'data', ARGV[1])
redis.call('SET', KEYS[2], made)
if ARGV[2] ~= '0' then redis.call('EXPIRE', KEYS[2], ARGV[2]) end
return made
"""


async def publish_again(redis: Redis, stream: str, *, entry_id: str, payload: bytes, mark_s: int) -> str:
    """The entry with the payload of a dead letter, made now or by an earlier run that stored no record.

    It is the last of its conversation, as any new event. No other process may publish the same letter
    meanwhile: the caller locks its row.

    Raises:
        StreamFull: Redis has no memory left; nothing was published.
        StreamSealed: the shards are being doubled; nothing was published.
        RedisError: the outcome is unknown; safe to repeat.
    """
    layout = await load_layout(redis, stream)
    for shard in _places(layout, payload):
        made: Any = await redis.get(_mark(shard, entry_id))
        if made:
            return f"{made.decode()}{shard.mark}"
    shard = layout.shard_of(payload)
    try:
        made = await LuaScript(redis, RETRY)(
            keys=[shard.name, _mark(shard, entry_id)], args=[payload, str(mark_s)]
        )
    except OutOfMemoryError:  # no cause: it quotes the command, which holds user text
        raise StreamFull(f"{stream}: Redis is full (maxmemory), nothing was published") from None
    except ResponseError as error:
        if "WRONGTYPE" in str(error):
            raise StreamSealed(f"{stream}: its shards are being doubled; try again") from None
        raise
    return f"{made.decode()}{shard.mark}"


async def forget(redis: Redis, stream: str, entry_id: str) -> None:
    """Remove the marks of a dead letter, so that it can be published again."""
    layout = await load_layout(redis, stream)
    for place in layout.streams():
        await redis.delete(_mark(place.shard, entry_id))


def _places(layout: ShardLayout, payload: bytes) -> tuple[Shard, ...]:
    """The shards that had the payload's conversation before each doubling."""
    ages = range(1, len(layout.epochs))
    return tuple(
        ShardLayout(stream=layout.stream, epochs=layout.epochs[:age]).shard_of(payload) for age in ages
    )


def _mark(shard: Shard, entry_id: str) -> str:
    """The key that names the entry made from a dead letter."""
    return f"{shard.prefix}retried:{entry_id}"
