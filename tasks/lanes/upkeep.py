"""What an engine does beside its lanes: heartbeats, the search for dead workers, repair, memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import structlog
from redis.exceptions import RedisError, ResponseError

from tasks.lanes.stream import REAP_BATCH, Lanes
from tasks.stream_upkeep.redis_memory import MemoryWatch

log = structlog.get_logger(__name__)

REAP_S: Final = 0.5
"""Longest pause between two searches for dead workers; each search is one EXISTS per worker."""
MEMORY_LOOK_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimits:
    """Limits of one engine.

    Attributes:
        in_flight: lanes that run at once; beyond it nothing more is admitted. Engines that share ``Places``
            have their limit there.
        heartbeat_ttl_s: after this long without a heartbeat the lanes go to other workers.
        drain_s: how long a warm shutdown waits for running entries.
        redis_pause_s: pause after a failed Redis call.
    """

    in_flight: int = 1000
    heartbeat_ttl_s: float = 10.0
    drain_s: float = 25.0
    redis_pause_s: float = 0.5


def is_without_group(error: Exception) -> bool:
    """Whether the stream has no group yet: a worker creates stream and group before it reads."""
    return isinstance(error, ResponseError) and "NOGROUP" in str(error)


class LaneUpkeep:
    """The jobs that keep a worker and its lanes alive.

    Args:
        freed: called when lanes of a dead worker were released.
    """

    def __init__(self, lanes: Lanes, limits: EngineLimits, freed: Callable[[], None]) -> None:
        self._lanes = lanes
        self._limits = limits
        self._freed = freed

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Endless; an error of Redis postpones a round, any other error ends its job."""
        ttl_s = self._limits.heartbeat_ttl_s
        return (
            self._beat_forever(),
            self._every(min(ttl_s / 4, REAP_S), self._reap),
            self._every(ttl_s, self._repair_page()),
            self._every(MEMORY_LOOK_S, MemoryWatch(self._lanes.redis, self._lanes.stream).look),
        )

    async def _every(self, period_s: float, job: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(period_s)
            try:
                await job()
            except (RedisError, OSError) as error:
                if not is_without_group(error):  # a worker without a model has not read yet
                    log.warning("upkeep_postponed", error=type(error).__name__)

    async def _beat_forever(self) -> None:
        """Send heartbeats; after an outage the first comes well within the half TTL without reaping."""
        ttl_s = self._limits.heartbeat_ttl_s
        while True:
            pause_s = ttl_s / 4
            try:
                async with asyncio.timeout(ttl_s / 4):  # a call that hangs must not outlast the heartbeat
                    await self.beat()
            except (RedisError, OSError) as error:
                log.warning("upkeep_postponed", error=type(error).__name__)
                pause_s = min(ttl_s / 8, self._limits.redis_pause_s)
            await asyncio.sleep(pause_s)

    async def beat(self) -> None:
        """Tell the other workers for one heartbeat TTL that this one is alive."""
        await self._lanes.heartbeat(int(self._limits.heartbeat_ttl_s * 1000))

    async def _reap(self) -> None:
        freed = REAP_BATCH
        while freed == REAP_BATCH:
            freed, dead = await self._lanes.reap()
            if dead:
                log.warning("workers_reaped", workers=list(dead), lanes=freed)
            if freed:
                self._freed()

    def _repair_page(self) -> Callable[[], Awaitable[None]]:
        cursor = "-"

        async def page() -> None:
            nonlocal cursor
            cursor, repaired = await self._lanes.repair(cursor)
            if repaired:
                log.warning("entries_repaired", entries=repaired)

        return page
