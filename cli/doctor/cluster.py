"""``hushgate doctor``: is every node of a Redis Cluster set up for Hushgate?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from redis import Redis
from redis.exceptions import ResponseError

from cli.doctor.check import DoctorCheck, failed, warned
from cli.doctor.redis_server import server_checks

COVERAGE: Final = "cluster-require-full-coverage"
UNKNOWN: Final = "unknown: CONFIG is forbidden"


def cluster_checks(redis: Redis) -> Iterator[DoctorCheck]:
    """What each primary must be, coverage and replicas of a cluster."""
    primaries: Any = redis.get_primaries()  # type: ignore[attr-defined]  # a cluster's client
    for node in primaries:
        for check in server_checks(_info(redis, node, "default")):
            yield replace(check, check=f"{check.check} {node.name}")
    yield _coverage([_setting(redis, node) for node in primaries])
    replicas = [int(_info(redis, node, "replication")["connected_slaves"]) for node in primaries]
    yield warned(
        "redis replicas",
        f"{len(replicas)} primaries, the least with {min(replicas)} replicas",
        "give each primary a replica: a shard without one pauses until its server is back",
        unless=min(replicas) > 0,
    )


def _coverage(settings: list[str]) -> DoctorCheck:
    """``cluster-require-full-coverage`` of all primaries."""
    check, fix = (
        "redis coverage",
        f"CONFIG SET {COVERAGE} no on every node: else one dead primary stops all shards",
    )
    if "yes" in settings:
        return failed(check, "yes on some nodes", fix)
    found = UNKNOWN if UNKNOWN in settings else "no"
    return warned(check, found, f"ask your provider for {COVERAGE} no", unless=found == "no")


def _info(redis: Redis, node: Any, section: str) -> Mapping[str, Any]:
    found: Any = redis.info(section, target_nodes=node)
    return dict(found)


def _setting(redis: Redis, node: Any) -> str:
    asked: Any = redis
    try:
        found = asked.config_get(COVERAGE, target_nodes=node)
    except ResponseError:
        return UNKNOWN  # managed servers do
    return next((_text(value) for value in found.values()), UNKNOWN)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
