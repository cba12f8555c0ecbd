"""The number of shards as Redis keeps it: agreed at first use, and doubled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from redis import Redis
from redis.exceptions import RedisError

from tasks.shards.clients import LuaScript, ScriptWords, is_cluster_client
from tasks.shards.layout import Shard, ShardLayout, layout_key, layout_of, require
from worker.errors import ConfigurationError

MOST_SHARDS: Final = 1024
WAIT_MS: Final = 100
WAITS_S: Final = 2.0
"""For a replica to have one seal, and all of them: publishers wait meanwhile."""
NOTICE: Final = "no stream: events are in several shards, see docs/scale.md"
"""Value of a key where a stream was: XADD answers WRONGTYPE there, so that no event is lost in it."""

AGREE: Final = """#!lua flags=allow-oom
-- KEYS[1] the stream's own name, KEYS[2] the layout; ARGV[1] shards wanted or '', ARGV[2] notice.
-- One shard needs no layout: its stream has the own name. Several begin only where no event ever was.
local found = redis.call('GET', KEYS[2])
if found then return found end
if ARGV[1] == '' or ARGV[1] == '1' then return '1' end
if redis.call('TYPE', KEYS[1]).ok == 'stream' then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'entries-added' and info[i + 1] > 0 then return '1' end
  end
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[1])
return ARGV[1]
"""
SEAL: Final = """#!lua flags=allow-oom
-- KEYS[1] stream, KEYS[2] its key from now on; ARGV[1] notice. Nothing can be added to the stream after it.
-- Group, pending entries and counters move along. Answers how many entries it has. Repeated before each
-- count: a failover may lose it. An empty stream under the new key is what a PREPARE made after that.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'string' then
  if kind == 'stream' then
    if redis.call('XLEN', KEYS[2]) > 0 then
      return redis.error_reply('ERR both keys of the shard hold events')
    end
    redis.call('RENAME', KEYS[1], KEYS[2])
  end
  redis.call('SET', KEYS[1], ARGV[1])
end
return redis.call('XLEN', KEYS[2])
"""
SWITCH: Final = """#!lua flags=allow-oom
-- KEYS[1] layout; ARGV[1] the one expected, ARGV[2] the new one. Answers the one that is stored then.
local found = redis.call('GET', KEYS[1]) or '1'
if found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
"""


def sealing(shard: Shard) -> ScriptWords:
    """Keys and arguments of SEAL, which seals a shard, if it is not, and answers how many entries it has."""
    return {"keys": [shard.name, shard.sealed], "args": [NOTICE]}


def agreement(stream: str, shards: int | None) -> ScriptWords:
    """Keys and arguments of AGREE: the layout, made where no event was ever published."""
    wanted = "" if shards is None else str(shards)
    return {"keys": [stream, layout_key(stream)], "args": [wanted, NOTICE]}


def agree(redis: Redis, stream: str, shards: int | None) -> ShardLayout:
    """The layout of a stream; made with this number of shards where no event was ever published.

    Raises:
        ConfigurationError: it was made with another number.
    """
    stored: Any = LuaScript(redis, AGREE).run(**agreement(stream, shards))
    return require(layout_of(stream, stored), shards)


def current_layout(redis: Redis, stream: str) -> ShardLayout:
    """The layout now."""
    stored: Any = redis.get(layout_key(stream))
    return layout_of(stream, stored)


def unfinished(redis: Redis, layout: ShardLayout) -> dict[Shard, int]:
    """Entries of sealed shards that are not decided yet, by shard; none of those that are empty."""
    seal = LuaScript(redis, SEAL)
    counts: dict[Shard, Any] = {shard: seal.run(**sealing(shard)) for shard in layout.sealed()}
    return {shard: int(count) for shard, count in counts.items() if count}


def double(redis: Redis, stream: str) -> ShardLayout:
    """Seal every shard, then let publishers and workers use twice as many; the new layout.

    Publishers that come between the first seal and the switch wait for it. Safe to repeat after a failure: no
    event is lost, and none can be published before the switch is made.

    Raises:
        ConfigurationError: the shards of the last doubling still drain, or there would be too many.
    """
    layout = current_layout(redis, stream)
    if left := sum(unfinished(redis, layout).values()):
        raise ConfigurationError(f"shards: {left} events of the last doubling are not decided yet; wait")
    if 2 * layout.shards > MOST_SHARDS:
        raise ConfigurationError(f"shards: expected at most {MOST_SHARDS}, got {2 * layout.shards}")
    until = time.monotonic() + WAITS_S
    for shard in layout.current():
        LuaScript(redis, SEAL).run(**sealing(shard))
        _wait_for_replica(redis, shard, min(WAIT_MS, int((until - time.monotonic()) * 1000)))
    before, after = (",".join(map(str, each)) for each in _epochs(layout))
    stored: Any = LuaScript(redis, SWITCH).run(keys=[layout_key(stream)], args=[before, after])
    return layout_of(stream, stored)


def _wait_for_replica(redis: Redis, shard: Shard, most_ms: int) -> None:
    """Give a replica time to have the seal; without it, a worker seals again after a failover."""
    if most_ms <= 0:  # WAIT takes 0 as forever
        return
    asked: Any = redis
    node = {"target_nodes": asked.get_node_from_key(shard.name)} if is_cluster_client(redis) else {}
    with suppress(RedisError):
        if asked.info("replication", **node)["connected_slaves"]:
            asked.execute_command("WAIT", 1, most_ms, **node)


def _epochs(layout: ShardLayout) -> Iterator[tuple[int, ...]]:
    yield layout.epochs
    yield (*layout.epochs, 2 * layout.shards)
