"""The figures of the fleet, by server: a server that does not answer hides only its own figures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, RedisError

from db.fleet.figures import StoredFigures, figures_connection, load_stored_figures
from db.health.conservation import load_balance
from tasks.fleet.beats import load_ages, load_beats
from tasks.shards.backlog import load_layout, stream_info
from tasks.shards.clients import LuaScript, connect
from tasks.shards.layout import ShardStream
from tasks.stream_upkeep.redis_memory import memory
from worker.errors import StorageUnavailable
from worker.settings import StreamSettings

log = structlog.get_logger(__name__)

REACH_S: Final = 10.0
NOW: Final = "return redis.call('TIME')"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardState:
    """One shard; the figures as in ``StreamState``, all zero while its Redis does not answer.

    Attributes:
        name: the key of its stream.
        up: whether its Redis answered.
        workers: names of the workers with a heartbeat.
    """

    name: str
    up: bool = False
    accepted: int = 0
    entries: int = 0
    oldest_age_s: float = 0.0
    workers: frozenset[str] = frozenset()
    memory_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """The stream of events, all shards together.

    Attributes:
        accepted: entries that were ever added.
        entries: entries that are not finished.
        oldest_age_s: age of the oldest unfinished entry; 0 without entries.
        workers: workers with a heartbeat.
        beat_age_s: seconds since beat sent a task, at most a day.
        tasks_age_s: seconds since a worker ran a task of beat, or beat started; at most a day.
        beats: beats that sent a task in the last 30 s; exactly one is right.
        memory_share: used part of ``maxmemory`` of the fullest Redis; 0 without a limit.
        shards: the shards that publishers use, and earlier shards that do not answer.
    """

    accepted: int
    entries: int
    oldest_age_s: float
    workers: int
    beat_age_s: float
    tasks_age_s: float
    shards: tuple[ShardState, ...] = ()
    beats: tuple[str, ...] = ()
    memory_share: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether the sums have the figures of every shard."""
        return all(each.up for each in self.shards)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetState:
    """The answers of the servers at ``at``; None for a server that did not answer.

    Attributes:
        imbalance: None also while a shard does not answer: its count of accepted entries is not known.
        errors: the type of error of each server that did not answer, or which command it refused.
    """

    at: datetime
    stream: StreamState | None
    stored: StoredFigures | None
    imbalance: int | None
    errors: Mapping[str, str] = field(default_factory=dict)


async def load_stream_state(redis: Redis, stream: str) -> StreamState:
    """The state of the stream; zeros for a missing stream.

    Raises:
        RedisError: Redis did not answer; a single shard that does not answer is not ``up`` instead.
    """
    layout = await load_layout(redis, stream)
    streams = list(layout.streams())
    found = [await _shard_state(redis, each, alone=len(streams) == 1) for each in streams]
    current = {shard.name for shard in layout.current()}
    beat_age_s, tasks_age_s = await load_ages(redis, stream)
    return StreamState(
        accepted=sum(each.accepted for each in found),
        entries=sum(each.entries for each in found),
        oldest_age_s=max(each.oldest_age_s for each in found),
        workers=len(frozenset[str]().union(*(each.workers for each in found))),
        beat_age_s=beat_age_s,
        tasks_age_s=tasks_age_s,
        beats=await load_beats(redis, stream),
        shards=tuple(each for each in found if each.entries or not each.up or each.name in current),
        memory_share=max(each.memory_share for each in found),
    )


async def _shard_state(redis: Redis, place: ShardStream, *, alone: bool) -> ShardState:
    try:
        return await _answering_shard(redis, place)
    except (RedisError, OSError) as error:
        if alone:
            raise
        log.warning("shard_unreadable", stream=place.key, error=type(error).__name__)
        return ShardState(name=place.key)


async def _answering_shard(redis: Redis, place: ShardStream) -> ShardState:
    info = await stream_info(redis, place)
    age_s = 0.0
    if info["first-entry"]:
        written_ms = int(bytes(info["first-entry"][0]).partition(b"-")[0])
        age_s = max(0.0, await _now_s(redis, place) - written_ms / 1000)
    prefix = place.shard.prefix
    names = [
        bytes(each).decode(errors="replace")
        async for each in redis.sscan_iter(f"{prefix}workers", count=1000)
    ]
    alive = [name for name in names if await redis.exists(f"{prefix}hb:{name}")]
    return ShardState(
        name=place.key,
        up=True,
        accepted=int(info["entries-added"]),
        entries=int(info["length"]),
        oldest_age_s=age_s,
        workers=frozenset(alive),
        memory_share=(await memory(redis, place.key)).share,
    )


async def _now_s(redis: Redis, place: ShardStream) -> float:
    """The clock of the server that gave the entries their ids."""
    # a cluster sends TIME to any node
    seconds, microseconds = await LuaScript(redis, NOW)(keys=[place.key], args=[])
    return int(seconds) + int(microseconds) / 1e6


async def load_fleet(settings: StreamSettings, url: str, *, count_all: bool = True) -> FleetState:
    """The state now.

    ``url`` is that of Postgres, with a login that may read what the review pages show. ``count_all=False``
    leaves out the conservation check, which counts whole tables.
    """
    at, errors = datetime.now(UTC), dict[str, str]()
    stream = await _answered("redis", lambda: _stream(settings), errors)

    async def read() -> tuple[StoredFigures, int | None]:
        async with figures_connection(url) as connection:
            figures, imbalance = await load_stored_figures(connection, at.date()), None
            if count_all and stream is not None and stream.complete:
                counted = await load_balance(connection, accepted=stream.accepted, unfinished=stream.entries)
                imbalance = counted.imbalance
            return figures, imbalance

    found = await _answered("postgres", read, errors)
    figures, imbalance = found or (None, None)
    return FleetState(at=at, stream=stream, stored=figures, imbalance=imbalance, errors=errors)


async def _stream(settings: StreamSettings) -> StreamState:
    url = settings.redis_url.get_secret_value()
    async with connect(url, timeout_s=REACH_S) as redis:
        return await load_stream_state(redis, settings.stream)


async def _answered(server: str, read: Callable[[], Awaitable[Any]], errors: dict[str, str]) -> Any:
    """The result of ``read``; None, a log line and an entry of ``errors`` when the server did not answer."""
    try:
        return await read()
    except (RedisError, OSError, StorageUnavailable) as error:
        kind = error.kind if isinstance(error, StorageUnavailable) else type(error).__name__
        errors[server] = f"{kind}: {error}" if isinstance(error, NoPermissionError) else kind
        log.warning("fleet_state_incomplete", server=server, error=kind)
        return None
