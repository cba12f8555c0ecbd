"""``hushgate doctor``: what one Redis server must be, alone or in a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cli.doctor.check import DoctorCheck, failed

LEAST_REDIS: Final = (7, 2)


def server_checks(info: Mapping[str, Any]) -> Iterator[DoctorCheck]:
    """Version, persistence and eviction, by INFO of the server."""
    version = str(info.get("valkey_version") or info["redis_version"])
    recent = tuple(int(part) for part in version.split(".")[:2]) >= LEAST_REDIS
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
