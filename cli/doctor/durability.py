"""``hushgate doctor``: what a power failure and a failover would lose with the present settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from redis import Redis
from redis.exceptions import ResponseError

from cli.doctor.check import DoctorCheck, failed, warned
from cli.options import REACH_S
from db.sessions.settings import Durability, load_durability
from tasks.shards.clients import connect_sync, is_cluster_client
from worker.settings import Settings

GUIDE: Final = "docs/recovery.md says what each setting costs"
NOTHING: Final = "nothing"
LOST_BY_FSYNC: Final = {
    "always": NOTHING,
    "everysec": "about a second of events",
    "no": "half a minute of events or more",
}
UNKNOWN: Final = "an unknown part: CONFIG is forbidden"
LOST_WITHOUT_AOF: Final = "all events since its last snapshot"
LOSSES: Final = (*LOST_BY_FSYNC.values(), UNKNOWN, LOST_WITHOUT_AOF)
"""From the smallest to the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisNode:
    """The settings of a primary; ``appendfsync`` is empty where CONFIG is forbidden.

    Attributes:
        most_lag_s: a replica may be so far behind while the primary takes writes; 0: without limit.
    """

    aof: bool
    appendfsync: str
    replicas: int
    most_lag_s: int


def durability_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """What acknowledged events, decisions and replies survive."""
    with connect_sync(
        settings.redis_url.get_secret_value(), timeout_s=REACH_S, decode_responses=True
    ) as redis:
        nodes = list(_nodes(redis))
    postgres = load_durability(settings.database_url.get_secret_value())
    yield power_failure(nodes, postgres)
    yield failover(nodes, postgres, settings.publish_replicas)


def power_failure(nodes: list[RedisNode], postgres: Durability) -> DoctorCheck:
    """The loss when the machines of both servers lose their power."""
    of_redis = max((_lost(node) for node in nodes), key=LOSSES.index, default=NOTHING)
    of_postgres = NOTHING if postgres.survives_power_failure else _lost_by_postgres(postgres)
    found = f"Redis loses {of_redis}, Postgres {of_postgres}"
    fix = "set appendfsync always, or use publishers that can publish again"
    if of_postgres != NOTHING:
        fix = "set fsync, full_page_writes and synchronous_commit on"
    safe = of_redis == of_postgres == NOTHING
    return warned("power failure", found, f"{fix}; {GUIDE}", unless=safe)


def failover(nodes: list[RedisNode], postgres: Durability, awaited: int) -> DoctorCheck:
    """The loss when a replica is promoted, if there is one; ``awaited``: HUSHGATE_PUBLISH_REPLICAS."""
    fewest = min((node.replicas for node in nodes), default=0)
    if awaited > fewest:
        found = f"HUSHGATE_PUBLISH_REPLICAS is {awaited}, a Redis primary has {fewest} replicas"
        return failed("failover", f"{found}: publishers are refused", "add replicas, or lower the setting")
    parts, safe = [], True
    if copied := [node for node in nodes if node.replicas]:
        lag_s = max(node.most_lag_s for node in copied)
        limit = f", at most the last {lag_s} s of writes" if all(node.most_lag_s for node in copied) else ""
        what = "replies that" if awaited else "what"
        parts.append(f"Redis loses {what} its replica does not have yet{limit}")
        if awaited:
            parts.append(f"accepted events wait for {awaited} (HUSHGATE_PUBLISH_REPLICAS)")
        if 0 < awaited < max(node.replicas for node in nodes):
            parts.append("another replica may be promoted, which lacks accepted events")
        if len(copied) < len(nodes):
            parts.append(f"{len(nodes) - len(copied)} of {len(nodes)} Redis primaries have no replica")
        safe = False
    else:
        parts.append("Redis has no replica")
    if postgres.survives_failover:
        parts.append(f"Postgres loses nothing (synchronous_commit {postgres.synchronous_commit})")
    elif postgres.standbys:
        parts.append("Postgres loses what its standby does not have yet")
        safe = False
    else:
        parts.append("Postgres has no standby")
    fix = (
        "hushgate repair after a failover"
        if awaited
        else "HUSHGATE_PUBLISH_REPLICAS {0} or WAIT {0}".format(max(1, fewest))
    )
    fix += "; Postgres: synchronous_standby_names"
    return warned("failover", "; ".join(parts), f"{fix}; {GUIDE}", unless=safe)


def _lost(node: RedisNode) -> str:
    if not node.aof:
        return LOST_WITHOUT_AOF
    return LOST_BY_FSYNC.get(node.appendfsync, UNKNOWN)


def _lost_by_postgres(postgres: Durability) -> str:
    if not postgres.fsync or not postgres.full_page_writes:
        return "possibly the whole database"
    return "the decisions of its last moments, which are then decided again or missing"


def _nodes(redis: Redis) -> Iterator[RedisNode]:
    asked: Any = redis
    targets = asked.get_primaries() if is_cluster_client(redis) else [None]
    for target in targets:
        words = {} if target is None else {"target_nodes": target}
        info: dict[str, Any] = asked.info(**words)
        limit = "min-replicas-to-write"
        bound = int(_setting(asked, limit, words) or 0)
        yield RedisNode(
            aof=bool(info.get("aof_enabled")),
            appendfsync=_setting(asked, "appendfsync", words),
            replicas=int(info.get("connected_slaves", 0)),
            most_lag_s=int(_setting(asked, "min-replicas-max-lag", words) or 0) if bound else 0,
        )


def _setting(asked: Any, name: str, words: dict[str, Any]) -> str:
    try:
        found: dict[Any, Any] = asked.config_get(name, **words)
    except ResponseError:
        return ""  # managed servers forbid CONFIG
    value = next(iter(found.values()), "")
    return value.decode() if isinstance(value, bytes) else str(value)
