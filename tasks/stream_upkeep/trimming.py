"""Deletes entries of an outgoing stream that are old and that every consumer group has acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from redis.asyncio import Redis

from tasks.shards.clients import LuaScript
from worker.settings import OutgoingStreamSettings

DAY_MS: Final = 86_400_000
STEP: Final = 5_000
"""Entries of one call, which blocks the server meanwhile."""
NOTHING: Final = "0-0"

LIMIT: Final = """
-- KEYS[1] stream; ARGV[1] and ARGV[2] milliseconds to keep entries with and without groups, -1 for ever.
-- limit() is the id below which every entry is old and acknowledged by every group. It is found in one step
-- with the deletion, so that a group made at this moment loses nothing.
local function padded(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  return string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq
end

local function lower(a, b)
  return padded(a) < padded(b) and a or b
end

local function after(id)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  if #seq > 15 then return id end -- a double would round it
  return ms .. '-' .. string.format('%.0f', tonumber(seq) + 1)
end

local function limit()
  if redis.call('EXISTS', KEYS[1]) == 0 then return '0-0' end
  local groups = redis.call('XINFO', 'GROUPS', KEYS[1])
  local kept = tonumber(#groups > 0 and ARGV[1] or ARGV[2])
  if kept < 0 then return '0-0' end
  local time = redis.call('TIME')
  local oldest_kept = time[1] * 1000 + math.floor(time[2] / 1000) - kept
  local found = string.format('%.0f-0', math.max(0, oldest_kept))
  for _, group in ipairs(groups) do
    local named = {}
    for i = 1, #group, 2 do named[group[i]] = group[i + 1] end
    found = lower(found, after(named['last-delivered-id']))
    local pending = redis.call('XPENDING', KEYS[1], named['name'])
    if pending[1] > 0 then found = lower(found, pending[2]) end
  end
  return found
end
"""
PLAN: Final = f"""#!lua flags=allow-oom
{LIMIT}
-- ARGV[3] first id to count, ARGV[4] most entries; answers the limit, the count, and the id to go on from.
local found = limit()
local last, count = '', 0
if found ~= '0-0' then
  local rows = redis.call('XRANGE', KEYS[1], ARGV[3], '(' .. found, 'COUNT', ARGV[4])
  count = #rows
  if count == tonumber(ARGV[4]) then last = '(' .. rows[count][1] end
end
return {{found, count, last}}
"""
TRIM: Final = f"""#!lua flags=allow-oom
{LIMIT}
-- KEYS[2] remembers the limit; ARGV[3] most entries. Answers the limit, the entries deleted, 1 for "go on".
-- Whole nodes of the stream first; the last call deletes what is left of one node.
local found = limit()
if found == '0-0' then return {{found, 0, 0}} end
local deleted = redis.call('XTRIM', KEYS[1], 'MINID', '~', found, 'LIMIT', ARGV[3])
local more = deleted > 0 and 1 or 0
if deleted == 0 then deleted = redis.call('XTRIM', KEYS[1], 'MINID', '=', found) end
if deleted > 0 then redis.call('SET', KEYS[2], found) end
return {{found, deleted, more}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long entries are kept; -1 for ever.

    Attributes:
        read_ms: entries that every group of the stream has acknowledged.
        groupless_ms: entries of a stream without groups, read or not.
    """

    read_ms: int
    groupless_ms: int = -1

    @classmethod
    def of(cls, settings: OutgoingStreamSettings) -> Keep:
        """The settings of a deployment."""
        groupless_ms = int(settings.keep.ungrouped_streams_days * DAY_MS)
        return cls(read_ms=int(settings.keep.streams_days * DAY_MS), groupless_ms=groupless_ms or -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """Entries that were deleted, or would be: all below ``limit``, an entry id; ``0-0`` for none."""

    limit: str
    entries: int


def trimmed_key(stream: str) -> str:
    """The key that holds the limit of the last deletion."""
    return f"{{{stream}}}:trimmed_to"


async def trim(redis: Redis, stream: str, keep: Keep) -> Trimmed:
    """Delete what may be deleted, in steps.

    Raises:
        RedisError: safe to repeat.
    """
    script, total, limit = LuaScript(redis, TRIM), 0, NOTHING
    more = True
    while more:
        args = [keep.read_ms, keep.groupless_ms, STEP]
        found, deleted, more = await script(keys=[stream, trimmed_key(stream)], args=args)
        limit, total = text_of(found), total + int(deleted)
    return Trimmed(limit=limit, entries=total)


async def plan(redis: Redis, stream: str, keep: Keep) -> Trimmed:
    """What ``trim`` would delete now.

    Raises:
        RedisError: Redis did not answer.
    """
    limit, total = NOTHING, 0
    async for limit, count in _counted(redis, stream, keep):  # noqa: B007  # the last limit is the newest
        total += count
    return Trimmed(limit=limit, entries=total)


async def _counted(redis: Redis, stream: str, keep: Keep) -> AsyncIterator[tuple[str, int]]:
    script, first = LuaScript(redis, PLAN), "-"
    while first:
        args: list[int | str] = [keep.read_ms, keep.groupless_ms, first, STEP]
        found, count, last = await script(keys=[stream], args=args)
        first = text_of(last)
        yield text_of(found), int(count)


def text_of(value: bytes | str) -> str:
    """An answer of Redis as text, whether the client decodes or not; others may name a group by any bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
