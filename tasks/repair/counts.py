"""Breaches of the sum: entries that Redis accepted, compared with their endings in Postgres."""

from __future__ import annotations

from typing import Final

from db.repair import fixing
from db.repair.finding import count_ended
from db.repair.model import Breach, FoundBreach
from tasks.repair.context import RepairContext
from tasks.shards.backlog import backlog, load_layout
from tasks.shards.clients import LuaScript

ADD: Final = """#!lua flags=allow-oom
-- KEYS[1] stream; ARGV[1] entries to add to the count of those ever added.
local info, found = redis.call('XINFO', 'STREAM', KEYS[1]), {}
for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
redis.call('XSETID', KEYS[1], found['last-generated-id'], 'ENTRIESADDED', found['entries-added'] + ARGV[1],
           'MAXDELETEDID', found['max-deleted-entry-id'])
return 1
"""


async def entries_uncounted(context: RepairContext) -> list[FoundBreach]:
    """More endings than entries: Redis lost its last writes, and the entries in them were decided."""
    short = await _uncounted(context)
    words = f"{short} entries have an ending, and the stream does not count them"
    return [_finding(context, Breach.ENTRIES_UNCOUNTED, words)] if short > 0 else []


async def endings_missing(context: RepairContext) -> list[FoundBreach]:
    """Entries that left the stream, and have no ending."""
    lost = await _missing(context)
    words = f"{lost} entries left the stream and have no decision, duplicate or dead letter"
    return [_finding(context, Breach.ENDINGS_MISSING, words)] if lost > 0 else []


async def count_entries(context: RepairContext, each: FoundBreach) -> bool:
    """Add to the stream's count what its endings prove."""
    async with fixing.sums_locked(context.pool):
        short = await _uncounted(context)
        if short <= 0:
            return False
        await fixing.log_repair(context.pool, each, context.person)
        layout = await load_layout(context.redis, context.settings.stream)
        first = layout.current()[0].name
        return bool(await LuaScript(context.redis, ADD)(keys=[first], args=[str(short)]))


async def count_lost(context: RepairContext, each: FoundBreach) -> bool:
    """Count the entries as lost, so that the conservation check finds the next ones."""

    async def missing() -> int:
        return await _missing(context)

    return await fixing.count_lost(context.pool, each, missing, person=context.person)


async def _uncounted(context: RepairContext) -> int:
    ended = await count_ended(context.pool)
    return ended - (await _counted(context))["accepted"]  # read after the endings: it only grows


async def _missing(context: RepairContext) -> int:
    before = await _counted(context)
    return before["accepted"] - before["unfinished"] - await count_ended(context.pool)


async def _counted(context: RepairContext) -> dict[str, int]:
    return await backlog(context.redis, context.settings.stream)


def _finding(context: RepairContext, breach: Breach, words: str) -> FoundBreach:
    return FoundBreach(breach=breach, subject=context.settings.stream, found=words)
