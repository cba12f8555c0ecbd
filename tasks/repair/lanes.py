"""Breaches in the lanes: entries that no worker would ever run, and counters that are wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, cast

from redis.exceptions import ResponseError

from db.repair.model import Breach, FoundBreach
from tasks.lanes.stream import GROUP, script
from tasks.repair.context import RepairContext
from tasks.shards.backlog import load_layout
from tasks.shards.clients import LuaScript
from tasks.shards.layout import ShardStream
from worker.payload import PAYLOAD_BYTES

ME: Final = "repair"
"""The consumer that holds restored entries until a worker finishes them."""
PAGE: Final = 200
OF_LANE: Final = {
    "missing": (Breach.ENTRY_MISSING, "the lane holds {} entries that the stream does not have"),
    "lost": (Breach.LANE_OF_LOST_WORKER, "its owner {} sends no heartbeat, and no worker looks for it"),
    "unqueued": (Breach.LANE_NOT_QUEUED, "it has no owner and is not in the queue; its first entry is {}"),
}


async def _look(context: RepairContext, place: ShardStream, what: str, *args: str | int) -> Any:
    look = LuaScript(context.redis, script("prelude", "books", "look"))
    return await look(keys=[place.key], args=[GROUP, ME, what, PAYLOAD_BYTES, *args])


async def _places(context: RepairContext) -> Sequence[ShardStream]:
    """The streams that a worker has read."""
    layout = await load_layout(context.redis, context.settings.stream)
    return [place for place in layout.streams() if await _last_read(context, place) is not None]


async def _last_read(context: RepairContext, place: ShardStream) -> str | None:
    """The newest entry that any worker has read; None without a stream or a group."""
    try:
        groups: Any = await context.redis.xinfo_groups(place.key)
    except ResponseError:  # no stream, or the notice of a sealed one
        return None
    of_ours = (each for each in groups if each["name"] == GROUP.encode())
    return next((each["last-delivered-id"].decode() for each in of_ours), None)


async def entries_in_no_lane(context: RepairContext) -> list[FoundBreach]:
    """Entries that workers have read and that no lane holds."""
    found: list[FoundBreach] = []
    for place in await _places(context):
        last, start = await _last_read(context, place) or "0-0", "-"
        while start:
            seen, ids = await _look(context, place, "entries", start, last, PAGE)
            start = f"({seen.decode()}" if seen else ""
            found += [
                FoundBreach(
                    breach=Breach.ENTRY_IN_NO_LANE,
                    subject=entry_id.decode() + place.shard.mark,
                    found="it was read, and no lane holds it",
                )
                for entry_id in ids
                if _is_old(context, entry_id)
            ]
    return found[: context.limit]


async def entries_missing(context: RepairContext) -> list[FoundBreach]:
    """Entries that are pending, counted or in a lane, and that the stream does not have."""
    found: list[FoundBreach] = []
    for place in await _places(context):
        for page in [page async for page in _pages(_known_entries(context, place))]:
            found += [
                FoundBreach(
                    breach=Breach.ENTRY_MISSING,
                    subject=entry_id.decode() + place.shard.mark,
                    found="another client deleted it from the stream; workers still count it",
                )
                for entry_id in await _look(context, place, "missing", *page)
                if _is_old(context, entry_id)
            ]
    return (found + await broken_lanes(context, Breach.ENTRY_MISSING))[: context.limit]


async def restore(context: RepairContext, finding: FoundBreach) -> bool:
    """Put one breach of the lanes right; False when the breach is gone meanwhile."""
    layout = await load_layout(context.redis, context.settings.stream)
    place, name = layout.place_of(finding.subject)
    match finding.breach:
        case Breach.ENTRY_IN_NO_LANE:
            what = "entry"
        case Breach.ENTRY_MISSING if _is_entry(name):
            what = "missing"
        case _:
            what = "lane"
    run = LuaScript(context.redis, script("prelude", "books", "restore"))
    found = await run(keys=[place.key], args=[GROUP, ME, what, PAYLOAD_BYTES, name])
    return bool(found)


async def broken_lanes(context: RepairContext, breach: Breach) -> list[FoundBreach]:
    """Lanes with a breach of this kind."""
    found: list[FoundBreach] = []
    for place in await _places(context):
        start = f"{place.shard.prefix}lane:"
        lanes = context.redis.scan_iter(match=f"{start}*", count=1000)
        async for page in _pages(key.removeprefix(start.encode()).decode() async for key in lanes):
            for lane, what, detail in await _look(context, place, "lanes", *page):
                kind, words = OF_LANE[what.decode()]
                if kind is breach:
                    text = words.format(detail.decode())
                    subject = lane.decode() + place.shard.mark
                    found.append(FoundBreach(breach=kind, subject=subject, found=text))
    return found[: context.limit]


async def _known_entries(context: RepairContext, place: ShardStream) -> AsyncIterator[str]:
    """The entries that are pending or counted; some of them twice."""
    start = "-"
    while True:
        rows = cast(
            "list[dict[str, Any]]", await context.redis.xpending_range(place.key, GROUP, start, "+", PAGE)
        )
        for row in rows:
            yield row["message_id"].decode()
        if len(rows) < PAGE:
            break
        start = f"({rows[-1]['message_id'].decode()}"
    counted: Any = context.redis.hscan_iter(f"{place.shard.prefix}starts", count=1000)
    async for field, _ in counted:
        if b" " not in field:
            yield field.decode()


async def _pages(names: AsyncIterator[str]) -> AsyncIterator[tuple[str, ...]]:
    page: dict[str, None] = {}
    async for name in names:
        page[name] = None
        if len(page) == PAGE:
            yield tuple(page)
            page = {}
    if page:
        yield tuple(page)


def _is_entry(name: str) -> bool:
    milliseconds, dash, sequence = name.partition("-")
    return bool(dash) and milliseconds.isdigit() and sequence.isdigit()


def _is_old(context: RepairContext, entry_id: bytes) -> bool:
    return int(entry_id.split(b"-")[0]) / 1000 <= (context.now - context.older_than).timestamp()
