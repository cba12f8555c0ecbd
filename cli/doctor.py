"""``hushgate doctor``: checks a deployment and says how to fix each finding."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import psycopg
import sqlalchemy as sa
import typer
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from cli.doctor_check import DoctorCheck
from cli.doctor_embedding import stored_vectors
from cli.doctor_endpoints import listed_models
from cli.doctor_live import live_calls
from cli.doctor_memory import memory_use
from cli.doctor_rights import login_rights, unreadable_check
from cli.exit_codes import ExitCode
from cli.output import emit, fail
from db import conservation, migrate
from db.audit import decision_list
from db.fitness import fitness
from db.pool import WORKER_ROLE
from worker import __version__
from worker.errors import ConfigurationError, StorageUnavailable
from worker.settings import Settings, load_settings

LEAST_PYTHON: Final = (3, 11)
LEAST_POSTGRES: Final = 150000
LEAST_REDIS: Final = (7, 2)
MOST_SKEW_S: Final = 2.0
REACH_S: Final = 10.0
FIRST: Final = "fix redis, postgres and migrations first"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckGroup:
    """A group of checks.

    Attributes:
        name: the check that fails when a server does not answer.
        fix: how to fix that.
        checks: makes the checks of the group.
    """

    name: str
    fix: str
    checks: Callable[[Settings], Iterable[DoctorCheck]]


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Do not call the model endpoints.")] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Also make real, paid calls: a chat call of one output token for each model, a moderation"
            " call, one of each classifier, and with HUSHGATE_EMBEDDING_MODEL an embedding of one word. They"
            " use about 20 tokens, 150 to 2000 for a classifier; 1000 cost less than 0.001 USD with most"
            " models.",
        ),
    ] = False,
) -> None:
    """Check settings, Redis, Postgres, models and that no event is lost; say how to fix each finding.

    Without --live, each endpoint is asked for its list of models, which is free; a model that is not in the
    list is a warning. --live proves that key, URL and model work together.

    Exit 0 when no check fails, 1 when one does; warnings do not count. Examples:

        hushgate doctor --live

        hushgate doctor --offline
    """
    if offline and live:
        raise fail("--offline, --live: expected one of them, got both")
    groups = GROUPS if offline else (*GROUPS, *ENDPOINT_GROUPS, *(LIVE_GROUPS if live else ()))
    checks = list(_checks(groups))
    emit([asdict(check) for check in checks], ["check", "state", "found", "fix"])
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(ExitCode.NEGATIVE)


def _checks(groups: Iterable[CheckGroup]) -> Iterator[DoctorCheck]:
    yield _python()
    try:
        settings = load_settings()
    except ConfigurationError as error:
        yield DoctorCheck(
            check="settings",
            state="fail",
            found=str(error),
            fix="set the variables; hushgate config example prints them all",
        )
        return
    yield DoctorCheck(check="settings", state="ok", found=f"hushgate {__version__}, all settings usable")
    for group in groups:
        yield from _guarded(group, settings)


def _guarded(group: CheckGroup, settings: Settings) -> Iterator[DoctorCheck]:
    try:
        yield from group.checks(settings)
    except (RedisError, OSError, psycopg.Error, sa.exc.SQLAlchemyError, StorageUnavailable) as error:
        found = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        yield unreadable_check(group.name, error) or DoctorCheck(
            check=group.name, state="fail", found=found, fix=group.fix
        )


def _python() -> DoctorCheck:
    ok = sys.version_info >= LEAST_PYTHON
    return DoctorCheck(
        check="python",
        state="ok" if ok else "fail",
        found=platform.python_version(),
        fix="" if ok else "use Python 3.11 or later",
    )


def _redis(settings: Settings) -> Iterator[DoctorCheck]:
    with Redis.from_url(
        settings.redis_url.get_secret_value(), socket_timeout=REACH_S, decode_responses=True
    ) as redis:
        info: dict[str, Any] = redis.info()
        version = str(info.get("valkey_version") or info["redis_version"])
        old = tuple(int(part) for part in version.split(".")[:2]) < LEAST_REDIS
        yield _check("redis version", version, old and "use Redis 7.2+ or Valkey 8+")
        yield _check(
            "redis AOF",
            "on" if info.get("aof_enabled") else "off",
            not info.get("aof_enabled")
            and "set appendonly yes in redis.conf (CONFIG SET until then): events are stored in Redis only",
        )
        policy = str(info.get("maxmemory_policy"))
        yield _check(
            "redis eviction",
            policy,
            policy != "noeviction" and "CONFIG SET maxmemory-policy noeviction: eviction deletes events",
        )
        yield memory_use(info)
        yield from _fsync(redis)
        yield _skew("redis clock", float(redis.time()[0]))


def _fsync(redis: Redis) -> Iterator[DoctorCheck]:
    try:
        fsync = str(redis.config_get("appendfsync").get("appendfsync"))
    except ResponseError:
        return  # managed servers forbid CONFIG
    found = f"{fsync}" + ("" if fsync == "always" else ": a power failure may lose about a second of events")
    yield DoctorCheck(
        check="redis fsync",
        state="ok" if fsync == "always" else "warn",
        found=found,
        fix="" if fsync == "always" else "set appendfsync always, or use publishers that can publish again",
    )


def _postgres(settings: Settings) -> Iterator[DoctorCheck]:
    found = fitness(settings.database_url.get_secret_value(), datetime.now(UTC).date())
    old = found.version_number < LEAST_POSTGRES
    yield _check("postgres version", found.version, old and "use Postgres 15 or later")
    yield _skew("postgres clock", found.now.timestamp())
    head = migrate.head()
    behind = found.revision != head
    yield _check("migrations", f"{found.revision or 'none'} of {head}", behind and "run: hushgate migrate")
    if behind:
        return
    yield _check(
        "audit partition",
        found.partition,
        not found.has_partition and "run hushgate beat; the first decision creates the partition too",
    )
    yield _check(
        "worker role",
        found.role or "none",
        found.role is None and f"GRANT {WORKER_ROLE} TO the login of DATABASE_URL",
    )


def _conservation(settings: Settings) -> Iterator[DoctorCheck]:
    yield _balance_check(asyncio.run(_balance(settings)))


def _balance_check(found: conservation.Balance) -> DoctorCheck:
    shown = (
        f"{found.accepted} accepted = {found.decided} decided + {found.duplicates} duplicates"
        f" + {found.buried} dead letters + {found.unfinished} unfinished"
        + (f" + {found.purged} purged" if found.purged else "")
    )
    if found.holds:
        return DoctorCheck(check="conservation", state="ok", found=shown)
    if found.missing <= 0 and found.unfinished >= -found.missing and found.audited <= found.decided:
        return DoctorCheck(
            check="conservation", state="ok", found=f"{shown}; {-found.missing} about to finish"
        )
    return DoctorCheck(
        check="conservation",
        state="fail",
        found=f"{shown}; {found.missing} missing, {found.audited} audited",
        fix="find out who trimmed the stream, changed tables by hand, or restored only one server",
    )


async def _balance(settings: Settings) -> conservation.Balance:
    with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=REACH_S) as redis:
        try:
            info: dict[str, Any] = redis.xinfo_stream(settings.stream)
        except ResponseError:
            info = {"entries-added": 0, "length": 0}
    async with decision_list.read_connection(settings.database_url.get_secret_value()) as connection:
        return await conservation.load_balance(
            connection, accepted=int(info["entries-added"]), unfinished=int(info["length"])
        )


def _skew(name: str, other_s: float) -> DoctorCheck:
    skew_s = abs(other_s - datetime.now(UTC).timestamp())
    late = skew_s > MOST_SKEW_S
    return DoctorCheck(
        check=name,
        state="warn" if late else "ok",
        found=f"{skew_s:.1f} s from the clock of this machine",
        fix="run NTP on both machines: ages of events are differences of their clocks" if late else "",
    )


def _check(name: str, found: str, fix: str | bool) -> DoctorCheck:
    return DoctorCheck(
        check=name, state="fail" if fix else "ok", found=found, fix=fix if isinstance(fix, str) else ""
    )


GROUPS: Final = (
    CheckGroup(name="redis", fix="check REDIS_URL and that the server runs", checks=_redis),
    CheckGroup(name="postgres", fix="check DATABASE_URL and that the server runs", checks=_postgres),
    CheckGroup(name="database login", fix=FIRST, checks=login_rights),
    CheckGroup(name="conservation", fix=FIRST, checks=_conservation),
    CheckGroup(name="embedder", fix=FIRST, checks=stored_vectors),
)
"""Always checked, in this order. A further group is one line here and one function in its own module."""
ENDPOINT_GROUPS: Final = (CheckGroup(name="endpoints", fix="check the base URLs", checks=listed_models),)
"""Checked unless --offline; free of charge."""
LIVE_GROUPS: Final = (CheckGroup(name="live calls", fix="check the base URLs", checks=live_calls),)
"""Checked with --live; paid."""
