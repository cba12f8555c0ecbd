"""``hushgate doctor``: is this deployment fit, and how to mend what is not."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import openai
import psycopg
import sqlalchemy as sa
import typer
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from cli.check import Check
from cli.doctor_embedding import embedding_answer, stored_vectors
from cli.output import emit
from db import audit, conservation, migrate
from db.fitness import fitness
from db.pool import WORKER_ROLE
from worker import __version__
from worker.errors import ConfigurationError, StorageUnavailable
from worker.settings import Settings, load

LEAST_PYTHON: Final = (3, 11)
LEAST_POSTGRES: Final = 150000
LEAST_REDIS: Final = (7, 2)
MOST_SKEW_S: Final = 2.0
REACH_S: Final = 10.0
FIRST: Final = "mend redis, postgres and migrations first"
MODEL: Final = "model endpoint"
MODERATION: Final = "moderation endpoint"
MEANWHILE: Final = {
    MODEL: "events that need it end in silence as LLM_ERROR",
    MODERATION: "events end as each account's moderation_failure says",
}


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the model endpoints.")] = False,
) -> None:
    """Check versions, settings, Redis, Postgres, endpoints and the conservation law; say how to mend each.

    Exit 0 when nothing fails; warnings do not count.
    """
    checks = list(_checks(offline=offline))
    emit([asdict(check) for check in checks], ["check", "state", "found", "mend"])
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def _checks(*, offline: bool) -> Iterator[Check]:
    yield _python()
    try:
        settings = load()
    except ConfigurationError as error:
        yield Check(
            check="settings", state="fail", found=str(error), mend="set them; see hushgate config example"
        )
        return
    yield Check(check="settings", state="ok", found=f"hushgate {__version__}, all settings usable")
    yield from _guarded("redis", "check REDIS_URL and that the server runs", lambda: _redis(settings))
    yield from _guarded(
        "postgres", "check DATABASE_URL and that the server runs", lambda: _postgres(settings)
    )
    yield from _guarded("conservation", FIRST, lambda: [_conservation(settings)])
    yield from _guarded("embedder", FIRST, lambda: stored_vectors(settings))
    if not offline:
        yield from _endpoints(settings)
        yield from embedding_answer(settings)


def _guarded(name: str, mend: str, look: Callable[[], Any]) -> Iterator[Check]:
    try:
        yield from look()
    except (RedisError, OSError, psycopg.Error, sa.exc.SQLAlchemyError, StorageUnavailable) as error:
        found = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        yield Check(check=name, state="fail", found=found, mend=mend)


def _python() -> Check:
    ok = sys.version_info >= LEAST_PYTHON
    return Check(
        check="python",
        state="ok" if ok else "fail",
        found=platform.python_version(),
        mend="" if ok else "use Python 3.11 or later",
    )


def _redis(settings: Settings) -> Iterator[Check]:
    with Redis.from_url(
        settings.redis_url.get_secret_value(), socket_timeout=REACH_S, decode_responses=True
    ) as redis:
        info: dict[str, Any] = redis.info()
        version = str(info.get("valkey_version") or info["redis_version"])
        old = tuple(int(part) for part in version.split(".")[:2]) < LEAST_REDIS
        yield _verdict("redis version", version, old and "use Redis 7.2+ or Valkey 8+")
        yield _verdict(
            "redis AOF",
            "on" if info.get("aof_enabled") else "off",
            not info.get("aof_enabled")
            and "CONFIG SET appendonly yes, and in redis.conf: events live there only",
        )
        policy = str(info.get("maxmemory_policy"))
        yield _verdict(
            "redis eviction",
            policy,
            policy != "noeviction" and "CONFIG SET maxmemory-policy noeviction: eviction deletes events",
        )
        yield from _fsync(redis)
        yield _skew("redis clock", float(redis.time()[0]))


def _fsync(redis: Redis) -> Iterator[Check]:
    try:
        fsync = str(redis.config_get("appendfsync").get("appendfsync"))
    except ResponseError:
        return  # managed servers forbid CONFIG
    found = f"{fsync}" + ("" if fsync == "always" else ": a power failure may lose about a second of events")
    yield Check(
        check="redis fsync",
        state="ok" if fsync == "always" else "warn",
        found=found,
        mend="" if fsync == "always" else "appendfsync always, or publishers that can publish again",
    )


def _postgres(settings: Settings) -> Iterator[Check]:
    found = fitness(settings.database_url.get_secret_value(), datetime.now(UTC).date())
    old = found.version_number < LEAST_POSTGRES
    yield _verdict("postgres version", found.version, old and "use Postgres 15 or later")
    yield _skew("postgres clock", found.now.timestamp())
    head = migrate.head()
    behind = found.revision != head
    yield _verdict("migrations", f"{found.revision or 'none'} of {head}", behind and "run: hushgate migrate")
    if behind:
        return
    yield _verdict(
        "audit partition",
        found.partition,
        not found.has_partition and "run hushgate beat beside a worker; the first decision makes it too",
    )
    yield _verdict(
        "worker role",
        WORKER_ROLE,
        not found.is_worker and f"GRANT {WORKER_ROLE} TO the login of DATABASE_URL",
    )


def _conservation(settings: Settings) -> Check:
    found = asyncio.run(_balance(settings))
    shown = (
        f"{found.accepted} accepted = {found.decided} decided + {found.duplicates} duplicates"
        f" + {found.buried} dead letters + {found.unfinished} unfinished"
        + (f" + {found.purged} purged" if found.purged else "")
    )
    if found.holds:
        return Check(check="conservation", state="ok", found=shown)
    if found.missing <= 0 and found.unfinished >= -found.missing and found.audited <= found.decided:
        return Check(check="conservation", state="ok", found=f"{shown}; {-found.missing} about to finish")
    return Check(
        check="conservation",
        state="fail",
        found=f"{shown}; {found.missing} missing, {found.audited} audited",
        mend="somebody trimmed the stream, restored one store without the other, or changed tables by hand",
    )


async def _balance(settings: Settings) -> conservation.Balance:
    with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=REACH_S) as redis:
        try:
            info: dict[str, Any] = redis.xinfo_stream(settings.stream)
        except ResponseError:
            info = {"entries-added": 0, "length": 0}
    async with audit.reading(settings.database_url.get_secret_value()) as connection:
        return await conservation.balance(
            connection, accepted=int(info["entries-added"]), unfinished=int(info["length"])
        )


def _endpoints(settings: Settings) -> Iterator[Check]:
    asked = [(MODEL, settings.openrouter_base_url, settings.openrouter_api_key)]
    if settings.openai_moderation_enabled:
        asked.append((MODERATION, settings.openai_base_url, settings.openai_api_key))
    for name, url, key in asked:
        yield _endpoint(name, url, key.get_secret_value() if key else "no-key")


def _endpoint(name: str, url: str, key: str) -> Check:
    """Whether an endpoint answers GET /models, which costs nothing; 404 there is an answer too."""
    try:
        with openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=REACH_S) as client:
            client.models.list()
    except openai.NotFoundError:
        return Check(check=name, state="ok", found=f"{url} answers, without a list of models")
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        return Check(
            check=name, state="fail", found=f"{url}: HTTP {error.status_code}", mend="set a key that it takes"
        )
    except openai.APIStatusError as error:
        return Check(
            check=name, state="warn", found=f"{url}: HTTP {error.status_code}", mend="ask its provider"
        )
    except openai.OpenAIError as error:
        return Check(
            check=name,
            state="fail",
            found=f"{url}: {type(error).__name__}",
            mend=f"check the URL and the network; meanwhile {MEANWHILE[name]}",
        )
    return Check(check=name, state="ok", found=f"{url} answers")


def _skew(name: str, other_s: float) -> Check:
    skew_s = abs(other_s - datetime.now(UTC).timestamp())
    late = skew_s > MOST_SKEW_S
    return Check(
        check=name,
        state="warn" if late else "ok",
        found=f"{skew_s:.1f} s from this machine's",
        mend="run NTP on both: ages of events are measured between them" if late else "",
    )


def _verdict(name: str, found: str, mend: str | bool) -> Check:
    return Check(
        check=name, state="fail" if mend else "ok", found=found, mend=mend if isinstance(mend, str) else ""
    )
