"""Breaches of the sum: entries that Redis accepted, compared with their endings in Postgres."""

from __future__ import annotations

from typing import Final

from db.repair import fixing
from db.repair.finding import count_ended
from db.repair.model import Breach, FoundBreach
from tasks.repair.scene import Scene
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


async def entries_uncounted(scene: Scene) -> list[FoundBreach]:
    """More endings than entries: Redis lost its last writes, and the entries in them were decided."""
    ended = await count_ended(scene.pool)
    short = ended - (await _counted(scene))["accepted"]  # read after the endings: it only grows
    words = f"{short} entries have an ending, and the stream does not count them"
    return [_finding(scene, Breach.ENTRIES_UNCOUNTED, words)] if short > 0 else []


async def endings_missing(scene: Scene) -> list[FoundBreach]:
    """Entries that left the stream, and have no ending."""
    lost = await _missing(scene)
    words = f"{lost} entries left the stream and have no decision, duplicate or dead letter"
    return [_finding(scene, Breach.ENDINGS_MISSING, words)] if lost > 0 else []


async def count_entries(scene: Scene, each: FoundBreach) -> bool:
    """Add to the stream's count what its endings prove."""
    short = await count_ended(scene.pool) - (await _counted(scene))["accepted"]
    if short <= 0:
        return False
    await fixing.log_repair(scene.pool, each, scene.person)
    layout = await load_layout(scene.redis, scene.settings.stream)
    first = layout.current()[0].name
    return bool(await LuaScript(scene.redis, ADD)(keys=[first], args=[str(short)]))


async def count_lost(scene: Scene, each: FoundBreach) -> bool:
    """Count the entries as lost, so that the conservation check finds the next ones."""
    lost = await _missing(scene)
    return lost > 0 and await fixing.count_lost(scene.pool, each, lost, person=scene.person)


async def _missing(scene: Scene) -> int:
    before = await _counted(scene)
    return before["accepted"] - before["unfinished"] - await count_ended(scene.pool)


async def _counted(scene: Scene) -> dict[str, int]:
    return await backlog(scene.redis, scene.settings.stream)


def _finding(scene: Scene, breach: Breach, words: str) -> FoundBreach:
    return FoundBreach(breach=breach, subject=scene.settings.stream, found=words)
