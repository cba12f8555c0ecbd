"""The number of shards as Redis keeps it: agreed at first use, and doubled."""

from __future__ import annotations

from typing import Any, Final

from redis import Redis

from tasks.shards.clients import LuaScript, ScriptWords, is_cluster_client
from tasks.shards.layout import Shard, ShardLayout, layout_key, layout_of, require
from worker.errors import ConfigurationError

MOST_SHARDS: Final = 1024
WAIT_MS: Final = 1000
"""For a replica to have a seal; publishers wait meanwhile."""
NOTICE: Final = "no stream: events are in several shards, see docs/scale.md"
"""Value of a key where a stream was: XADD answers WRONGTYPE there, so that the publisher keeps the event."""

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
-- KEYS[1] stream, KEYS[2] its key from now on; ARGV[1] notice, ARGV[2] 'count': only count. Answers how many
-- entries it has. An empty stream is sealed: nothing can be added to it, and its counters are kept. A seal is
-- written again, so that WAIT counts the replicas that have it.
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then
  local left = redis.call('XLEN', KEYS[1])
  if left > 0 or ARGV[2] then return left end
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
end
if not ARGV[2] then redis.call('SET', KEYS[1], ARGV[1]) end
return 0
"""
SWITCH: Final = """#!lua flags=allow-oom
-- KEYS[1] layout; ARGV[1] the one expected, ARGV[2] the new one. Answers the one that is stored then.
local found = redis.call('GET', KEYS[1]) or '1'
if found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
"""


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


def double(redis: Redis, stream: str) -> tuple[ShardLayout, int]:
    """Use twice as many shards, if all shards are empty; the layout now, and how many events are left.

    The order of conversations holds, as every event of the earlier shards is decided. Publishers that come
    between the first seal and the switch wait for it. Safe to repeat after a failure.

    The switch is made when a replica has each seal: after a failover that lost a seal, a publisher with the
    old number would add events that no worker reads.

    Raises:
        ConfigurationError: there would be too many shards, or no replica has a seal; then publishers wait.
    """
    layout = current_layout(redis, stream)
    if 2 * layout.shards > MOST_SHARDS:
        raise ConfigurationError(f"shards: expected at most {MOST_SHARDS}, got {2 * layout.shards}")
    if left := _left(redis, layout, NOTICE, "count") or _left(redis, layout, NOTICE):
        return layout, left
    for shard in layout.current():
        _require_replica(redis, shard)
    epochs = (layout.epochs, (*layout.epochs, 2 * layout.shards))
    stored: Any = LuaScript(redis, SWITCH).run(
        keys=[layout_key(stream)], args=[",".join(map(str, each)) for each in epochs]
    )
    return layout_of(stream, stored), 0


def _require_replica(redis: Redis, shard: Shard) -> None:
    """Seal an empty shard once more, and return when a replica, if the shard has any, has the seal."""
    asked: Any = redis
    node = {"target_nodes": asked.get_node_from_key(shard.name)} if is_cluster_client(redis) else {}
    LuaScript(redis, SEAL).run(keys=[shard.name, shard.sealed], args=[NOTICE])
    if not asked.info("replication", **node)["connected_slaves"]:
        return
    if not asked.execute_command("WAIT", 1, WAIT_MS, **node):
        raise ConfigurationError(
            f"shards: no replica of {shard.name} has its seal after {WAIT_MS} ms; run the command again"
        )


def _left(redis: Redis, layout: ShardLayout, *args: str) -> int:
    """What SEAL answers, over all shards."""
    seal = LuaScript(redis, SEAL)
    return sum(int(seal.run(keys=[each.name, each.sealed], args=args)) for each in layout.current())
