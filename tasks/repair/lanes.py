"""Breaches in the lanes: entries that no worker would ever run, and counters that are wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, cast

from redis.exceptions import ResponseError

from db.repair.model import Breach, FoundBreach
from tasks.repair.scene import Scene
from tasks.shards.backlog import load_layout
from tasks.shards.clients import LuaScript
from tasks.shards.layout import ShardStream
from tasks.stream import GROUP, script

ME: Final = "repair"
"""The consumer that holds restored entries until a worker finishes them."""
PAGE: Final = 200
OF_LANE: Final = {
    "missing": (Breach.ENTRY_MISSING, "the lane holds {} entries that the stream does not have"),
    "lost": (Breach.LANE_OF_LOST_WORKER, "its owner {} sends no heartbeat, and no worker looks for it"),
    "unqueued": (Breach.LANE_NOT_QUEUED, "it has no owner and is not in the queue; its first entry is {}"),
}


async def _look(scene: Scene, place: ShardStream, what: str, *args: str | int) -> Any:
    look = LuaScript(scene.redis, script("prelude", "books", "look"))
    return await look(keys=[place.key], args=[GROUP, ME, what, scene.settings.payload_bytes, *args])


async def _places(scene: Scene) -> Sequence[ShardStream]:
    """The streams that a worker has read."""
    layout = await load_layout(scene.redis, scene.settings.stream)
    return [place for place in layout.streams() if await _last_read(scene, place) is not None]


async def _last_read(scene: Scene, place: ShardStream) -> str | None:
    """The newest entry that any worker has read; None without a stream or a group."""
    try:
        groups: Any = await scene.redis.xinfo_groups(place.key)
    except ResponseError:  # no stream, or the notice of a sealed one
        return None
    of_ours = (each for each in groups if each["name"] == GROUP.encode())
    return next((each["last-delivered-id"].decode() for each in of_ours), None)


async def entries_in_no_lane(scene: Scene) -> list[FoundBreach]:
    """Entries that workers have read and that no lane holds."""
    found: list[FoundBreach] = []
    for place in await _places(scene):
        last, start = await _last_read(scene, place) or "0-0", "-"
        while start:
            seen, ids = await _look(scene, place, "entries", start, last, PAGE)
            start = f"({seen.decode()}" if seen else ""
            found += [
                FoundBreach(
                    breach=Breach.ENTRY_IN_NO_LANE,
                    subject=entry_id.decode() + place.shard.mark,
                    found="it was read, and no lane holds it",
                )
                for entry_id in ids
                if _is_old(scene, entry_id)
            ]
    return found[: scene.limit]


async def entries_missing(scene: Scene) -> list[FoundBreach]:
    """Entries that are pending, counted or in a lane, and that the stream does not have."""
    found: list[FoundBreach] = []
    for place in await _places(scene):
        for page in [page async for page in _pages(_known_entries(scene, place))]:
            found += [
                FoundBreach(
                    breach=Breach.ENTRY_MISSING,
                    subject=entry_id.decode() + place.shard.mark,
                    found="another client deleted it from the stream; workers still count it",
                )
                for entry_id in await _look(scene, place, "missing", *page)
                if _is_old(scene, entry_id)
            ]
    return (found + await _of_lanes(scene, Breach.ENTRY_MISSING))[: scene.limit]


async def lanes_not_queued(scene: Scene) -> list[FoundBreach]:
    """Lanes that hold entries, and that no worker has or will find."""
    return await _of_lanes(scene, Breach.LANE_NOT_QUEUED)


async def lanes_of_lost_workers(scene: Scene) -> list[FoundBreach]:
    """Lanes of workers that no other worker looks for."""
    return await _of_lanes(scene, Breach.LANE_OF_LOST_WORKER)


async def accounts_miscounted(scene: Scene) -> list[FoundBreach]:
    """Accounts whose running lanes are counted wrongly, which changes their share of the places."""
    return [
        FoundBreach(
            breach=Breach.ACCOUNT_MISCOUNTED,
            subject=account.decode() + place.shard.mark,
            found=f"{counted} running lanes are counted, {placed} run",
        )
        for place in await _places(scene)
        for account, counted, placed in await _look(scene, place, "places")
    ]


async def restore(scene: Scene, finding: FoundBreach) -> bool:
    """Put one breach of the lanes right; False when it is gone meanwhile."""
    layout = await load_layout(scene.redis, scene.settings.stream)
    place, name = layout.place_of(finding.subject)
    match finding.breach:
        case Breach.ENTRY_IN_NO_LANE:
            what = "entry"
        case Breach.ACCOUNT_MISCOUNTED:
            what = "places"
        case Breach.ENTRY_MISSING if _is_entry(name):
            what = "missing"
        case _:
            what = "lane"
    run = LuaScript(scene.redis, script("prelude", "books", "restore"))
    found = await run(keys=[place.key], args=[GROUP, ME, what, scene.settings.payload_bytes, name])
    return bool(found)


async def _of_lanes(scene: Scene, breach: Breach) -> list[FoundBreach]:
    found: list[FoundBreach] = []
    for place in await _places(scene):
        start = f"{place.shard.prefix}lane:"
        lanes = scene.redis.scan_iter(match=f"{start}*", count=1000)
        async for page in _pages(key.removeprefix(start.encode()).decode() async for key in lanes):
            for lane, what, detail in await _look(scene, place, "lanes", *page):
                kind, words = OF_LANE[what.decode()]
                if kind is breach:
                    text = words.format(detail.decode())
                    subject = lane.decode() + place.shard.mark
                    found.append(FoundBreach(breach=kind, subject=subject, found=text))
    return found[: scene.limit]


async def _known_entries(scene: Scene, place: ShardStream) -> AsyncIterator[str]:
    """The entries that are pending or counted; some of them twice."""
    start = "-"
    while True:
        rows = cast(
            "list[dict[str, Any]]", await scene.redis.xpending_range(place.key, GROUP, start, "+", PAGE)
        )
        for row in rows:
            yield row["message_id"].decode()
        if len(rows) < PAGE:
            break
        start = f"({rows[-1]['message_id'].decode()}"
    counted: Any = scene.redis.hscan_iter(f"{place.shard.prefix}starts", count=1000)
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


def _is_old(scene: Scene, entry_id: bytes) -> bool:
    return int(entry_id.split(b"-")[0]) / 1000 <= (scene.now - scene.older_than).timestamp()
