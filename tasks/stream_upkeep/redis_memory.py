"""Memory use of Redis, and a warning before it is full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog
from redis.asyncio import Redis

from tasks.shards.clients import server_info

log = structlog.get_logger(__name__)

WARN_SHARE: Final = 0.8
CALM_SHARE: Final = 0.75
"""Below this share the warning ends; between the two shares nothing is logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What Redis compares before it refuses a write.

    Attributes:
        used_bytes: without the buffers that do not count.
        limit_bytes: ``maxmemory``; 0 for none.
    """

    used_bytes: int
    limit_bytes: int

    @property
    def share(self) -> float:
        """Used part of the limit, above 1 when writes are refused; 0 without a limit."""
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 0.0

    def __str__(self) -> str:
        used = f"{self.used_bytes / 2**20:.0f} MB"
        return f"{used} of {self.limit_bytes / 2**20:.0f} MB" if self.limit_bytes else f"{used}, no limit"


def from_info(info: Mapping[str, Any]) -> Memory:
    """The figures in the section ``memory`` of INFO."""
    uncounted = int(info.get("mem_not_counted_for_evict", 0))
    return Memory(used_bytes=int(info["used_memory"]) - uncounted, limit_bytes=int(info["maxmemory"]))


async def memory(redis: Redis, key: str) -> Memory:
    """Memory use of the server that holds a key."""
    return from_info(await server_info(redis, "memory", key))


class MemoryWatch:
    """Logs once that Redis is nearly full, and once that it no longer is."""

    def __init__(self, redis: Redis, key: str) -> None:
        self._redis = redis
        self._key = key
        self._warned = False

    async def look(self) -> None:
        """Compare the memory in use with the limit."""
        found = await memory(self._redis, self._key)
        if found.share >= WARN_SHARE and not self._warned:
            self._warned = True
            log.warning("redis_nearly_full", share=round(found.share, 3), limit_bytes=found.limit_bytes)
        elif found.share < CALM_SHARE and self._warned:
            self._warned = False
            log.info("redis_has_room", share=round(found.share, 3), limit_bytes=found.limit_bytes)
