"""``hushgate doctor``: each Redis server, its outgoing streams, and did Redis come back empty?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from redis.asyncio import Redis

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.events.repair import emptied_words
from cli.events.streams import each_stream
from cli.options import own_connections, with_redis
from tasks.backup.streams import restoring_key
from tasks.repair.context import RepairContext
from tasks.repair.marks import Emptied
from tasks.repair.sends import lost_replies
from tasks.sending.once_stream import begun_key
from tasks.shards.backlog import load_layout, stream_info
from tasks.stream_upkeep.figures import StreamFigures, load_figures, stream_names, stream_problems
from worker.settings import Settings

SPAN: Final = timedelta(days=1)
"""Replies of so long before Redis had its first key: without any, there is nothing to compare."""
FIX: Final = "do what it says, then hushgate repair --fix entries-uncounted --yes (docs/recovery.md)"

RESTORE_AGAIN: Final = "stop workers, empty the database, repeat the same hushgate restore"


def redis_data(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether a restore ended, and whether replies of before the first key of Redis have their marks."""
    if with_redis(settings, lambda redis: redis.exists(restoring_key(settings.stream))):
        yield failed("redis data", "a restore began and did not end", RESTORE_AGAIN)
        return
    found = with_redis(settings, lambda redis: _emptied(settings, redis))
    if found is None:
        yield passed("redis data", "not lost, as far as replies show")
    else:
        yield warned("redis data", emptied_words(found), FIX)


async def _emptied(settings: Settings, redis: Redis) -> Emptied | None:
    stored = await redis.get(begun_key(settings.reply_stream))
    if stored is None:
        return None
    begun = datetime.fromtimestamp(int(stored), tz=UTC)
    async with own_connections(settings.database_url.get_secret_value()) as source:
        context = RepairContext(
            pool=source, redis=redis, settings=settings, now=begun + timedelta(seconds=1),
            since=begun - SPAN, older_than=timedelta(), limit=1, person="",
        )  # fmt: skip
        _, emptied = await lost_replies(context)
        return emptied


LAST_ID: Final = f"{2**64 - 1}-{2**64 - 1}".encode()
NO_FURTHER: Final = "when nothing waits in it and all consumers have read it, DEL it (docs/recovery.md)"


def stream_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether every stream has ids for further entries; one check of each outgoing stream."""
    ended = with_redis(settings, lambda redis: _without_further_ids(redis, settings))
    words = f"{', '.join(ended)}: a client used the last id, nothing can be added"
    yield failed("stream ids", words, NO_FURTHER) if ended else passed("stream ids", "not used up")
    for found in each_stream(settings, load_figures):
        check, problems = f"stream {found.stream}", list(stream_problems(found))
        if not problems:
            yield passed(check, _shown(found))
            continue
        yield warned(
            check, "; ".join(each.found for each in problems), "; ".join(each.fix for each in problems)
        )


async def _without_further_ids(redis: Redis, settings: Settings) -> list[str]:
    """The streams, of events and outgoing, whose last id is the largest possible one."""
    shards = (await load_layout(redis, settings.stream)).streams()
    infos = {each.key: await stream_info(redis, each) for each in shards}
    for key in stream_names(settings).values():
        infos[key] = await redis.xinfo_stream(key) if await redis.exists(key) else {}
    return [key for key, info in infos.items() if info.get("last-generated-id") == LAST_ID]


def _shown(found: StreamFigures) -> str:
    groups = f"groups: {', '.join(each.name for each in found.groups)}" if found.groups else "no groups"
    return f"{found.entries} entries, {groups}"


LEAST_REDIS: Final = (7, 2)
OTHER_SERVERS: Final = ("dragonfly_version", "garnet_version")
"""Servers that name a version of Redis beside their own and are not tested."""
VERSION: Final = re.compile(r"(\d+)\.(\d+)")


def server_checks(info: Mapping[str, Any]) -> Iterator[DoctorCheck]:
    """Version, persistence and eviction, by INFO of the server."""
    other = next((f"{name} {info[name]}" for name in OTHER_SERVERS if name in info), None)
    version = other or str(info.get("valkey_version") or info.get("redis_version") or "unknown")
    numbers = VERSION.match(version)
    recent = numbers is not None and tuple(map(int, numbers.groups())) >= LEAST_REDIS
    yield failed("redis version", version, "use Redis 7.2+ or Valkey 8+", unless=recent)
    aof = bool(info.get("aof_enabled"))
    fix = "set appendonly yes in redis.conf (CONFIG SET until then): events are stored in Redis only"
    yield failed("redis AOF", "on" if aof else "off", fix, unless=aof)
    written = str(info.get("aof_last_write_status", "ok"))
    fix = "free disk space of the server: it refuses writes until its log can be written"
    yield failed("redis AOF writes", written, fix, unless=written == "ok")
    policy = str(info.get("maxmemory_policy"))
    fix = "CONFIG SET maxmemory-policy noeviction: eviction deletes events"
    yield failed("redis eviction", policy, fix, unless=policy == "noeviction")
