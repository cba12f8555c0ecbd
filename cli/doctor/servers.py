"""``hushgate doctor``: are Redis and Postgres set up for Hushgate, and is no event lost?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ResponseError

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.doctor.redis_data import server_checks
from cli.options import REACH_S, with_redis
from db.audit.decision_list import read_connection
from db.health import conservation
from db.health.fitness import fitness
from db.pool import WORKER_ROLE
from db.schema import migrate
from tasks.alerts.situation import MOST_SKEW_S
from tasks.shards.backlog import backlog
from tasks.shards.clients import connect_sync, is_cluster_client
from tasks.stream_upkeep.redis_memory import WARN_SHARE, from_info
from worker.settings import Settings

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


LEAST_POSTGRES: Final = 150000
CLOCKS: Final = "redis to postgres clock"
FREE_MEMORY: Final = "start workers, run hushgate streams trim, or raise maxmemory"


def redis_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """Version, persistence, eviction, memory and clock of Redis."""
    with _redis(settings) as redis:
        if is_cluster_client(redis):
            yield from cluster_checks(redis)
            return
        info: dict[str, Any] = redis.info()
        yield from server_checks(info)
        yield memory_check(info)
        yield clock_check("redis clock", _redis_clock(redis) - time.time())


def memory_check(info: Mapping[str, Any]) -> DoctorCheck:
    """Whether Redis has memory for further events; a full server refuses new events and keeps the others."""
    found = from_info(info)
    if found.share >= 1:
        return failed("redis memory", f"{found}: publishing is refused", FREE_MEMORY)
    if found.share >= WARN_SHARE:
        return warned("redis memory", f"{found}: nearly full", FREE_MEMORY)
    return passed("redis memory", f"{found}")


def postgres_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """Version, clock, migrations, partition and role of Postgres."""
    found = fitness(settings.database_url.get_secret_value(), datetime.now(UTC).date())
    recent = found.version_number >= LEAST_POSTGRES
    yield failed("postgres version", found.version, "use Postgres 15 or later", unless=recent)
    yield clock_check("postgres clock", found.now.timestamp() - time.time())
    head = migrate.head()
    migrated = found.revision == head
    shown = f"{found.revision or 'none'} of {head}"
    fix = "run, as the owner: hushgate migrate"
    if found.revision is None:
        fix += f"; where the owner is no superuser, first as a superuser: {migrate.GRANT_PARAMETERS}"
    if missing := _missing_columns(settings) if migrated else []:
        shown, fix = f"{shown}, without {', '.join(missing[:3])}", f"{migrate.UNRELEASED}; use a new database"
    yield failed("migrations", shown, fix, unless=migrated and not missing)
    if migrated:
        fix = "run hushgate beat; the first decision creates the partition too"
        yield failed("audit partition", found.partition, fix, unless=found.has_partition)
        fix = f"GRANT {WORKER_ROLE} TO the login of DATABASE_URL"
        yield failed("worker role", found.role or "none", fix, unless=found.role is not None)


def _missing_columns(settings: Settings) -> list[str]:
    with migrate.engine(settings.database_url.get_secret_value()).connect() as connection:
        return migrate.missing_columns(connection)


def clock_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether Redis and Postgres show the same time: entries have that of one, decisions that of workers."""
    with _redis(settings) as redis:
        redis_ahead_s = _redis_clock(redis) - time.time()
    found = fitness(settings.database_url.get_secret_value(), datetime.now(UTC).date())
    postgres_ahead_s = found.now.timestamp() - time.time()
    ahead_s = redis_ahead_s - postgres_ahead_s
    yield clock_check(CLOCKS, ahead_s, "the clock of Postgres")


def conservation_check(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether every accepted event has its decision or dead letter, or is still unfinished."""
    found = with_redis(settings, lambda redis: _balance(settings, redis))
    shown = (
        f"{found.accepted} accepted = {found.decided} decided + {found.duplicates} duplicates"
        f" + {found.buried} dead letters + {found.unfinished} unfinished"
        + (f" + {found.purged} purged" if found.purged else "")
    )
    if found.holds:
        yield passed("conservation", shown)
    elif found.imbalance == 0:
        yield passed("conservation", f"{shown}; {-found.missing} about to finish")
    else:
        yield failed(
            "conservation",
            f"{shown}; {found.missing} missing, {found.audited} audited",
            "run hushgate repair; find out who trimmed the stream, changed tables by hand, or restored only"
            " one server",
        )


async def _balance(settings: Settings, redis: AsyncRedis) -> conservation.Balance:
    counted = await backlog(redis, settings.stream)
    async with read_connection(settings.database_url.get_secret_value()) as connection:
        return await conservation.load_balance(
            connection, accepted=counted["accepted"], unfinished=counted["unfinished"]
        )


def _redis(settings: Settings) -> Redis:
    url = settings.redis_url.get_secret_value()
    return connect_sync(url, timeout_s=REACH_S, decode_responses=True)


def clock_check(name: str, ahead_s: float, other: str = "the clock of this machine") -> DoctorCheck:
    """Whether a clock shows the time of another; ``ahead_s`` is negative for a clock that is behind."""
    return warned(
        name,
        f"{abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} {other}",
        "run NTP on both machines: ages of events are differences of their clocks",
        unless=abs(ahead_s) <= MOST_SKEW_S,
    )


def _redis_clock(redis: Redis) -> float:
    seconds, microseconds = redis.time()
    return float(seconds) + float(microseconds) / 1e6
