"""A Redis without free memory: workers start and drain it, replies leave, publishers get an error."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ResponseError
from structlog.testing import capture_logs

from cli.doctor.servers import memory_check
from cli.exit_codes import ExitCode
from sandbox.server import SandboxHandle
from tasks.publishing.publish import publish, publish_many
from tasks.sending import once_stream
from tasks.sending.once_stream import RESERVE, OnceStream, OutgoingEntry
from tasks.shards.clients import connect
from tasks.stream_upkeep.redis_memory import MemoryWatch
from tests.support.running import PATIENCE_S, eventually
from tests.support.samples import body_of
from tests.support.terminal import Shell
from worker.errors import StreamFull

STREAM = "hushgate:events"
REPLIES = "test:replies"


def event(number: int) -> dict[str, str]:
    """An event in a conversation of its own."""
    return body_of(f"full-{number}", user_id="nowhere")


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """A client of the empty server, whose limit is lifted at the end."""
    with Redis.from_url(redis_url, socket_timeout=20) as client:
        yield client
        client.config_set("maxmemory", "0")


@pytest.fixture
async def replies(redis: Redis, redis_url: str) -> AsyncIterator[OnceStream]:
    """The reply stream of that server."""
    async with connect(redis_url) as client:
        yield OnceStream(client, REPLIES)


def used(redis: Redis) -> int:
    """Bytes that count towards the limit."""
    info = redis.info("memory")
    return int(info["used_memory"]) - int(info["mem_not_counted_for_evict"])


def stock(redis: Redis) -> None:
    """Use so much memory that a connection's buffers do not count."""
    publish_many(redis, [{**event(number), "text": "x" * 10_000} for number in range(3000)])


def fill(redis: Redis, share: float) -> None:
    """Set the limit so that this share of it is in use."""
    redis.config_set("maxmemory", str(round(used(redis) / share)))


def set_limit(redis: Redis, limit: str) -> None:
    """Set ``maxmemory``."""
    redis.config_set("maxmemory", limit)


def reply(number: int) -> OutgoingEntry:
    """A reply to put."""
    return OutgoingEntry(mark=f"m{number}", key=f"k{number}", body={"text": "x" * 200})


@pytest.fixture
def worker(
    redis_url: str, database_url: str, sandbox: SandboxHandle, tmp_path: Path
) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a real worker process; it is killed at the end."""
    started = []

    def start() -> subprocess.Popen[bytes]:
        environment = {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "HUSHGATE_MODEL_URL": sandbox.base_url,
            "HUSHGATE_MODEL_KEY": "none",
        }
        with (tmp_path / "worker.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "tasks.app", "worker"],
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(PATIENCE_S)


@pytest.mark.timeout(200)
def test_a_worker_that_starts_on_a_full_redis_drains_it_and_leaks_no_connection(
    redis: Redis, worker: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """The engine works while Celery's own side waits for memory; with memory Celery's tasks run as well."""
    publish_many(redis, [event(number) for number in range(300)])
    redis.config_set("maxmemory", "1mb")
    worker()
    eventually(lambda: redis.xlen(STREAM) == 0, "the stream is drained")

    def tried() -> int:
        return int(redis.info("stats")["total_connections_received"])

    def connected() -> int:
        return int(redis.info("clients")["connected_clients"])

    before, held = tried(), connected()
    eventually(lambda: tried() > before + 12, "Celery tried to connect several times")
    grown = connected() - held
    redis.config_set("maxmemory", "0")
    eventually(lambda: redis.smembers("_kombu.binding.hushgate"), "Celery has its queue")

    assert grown <= 4  # one or two of Celery's and two of the engine's; a leak leaves one for each attempt


async def test_replies_leave_while_publishers_are_refused(redis: Redis, replies: OnceStream) -> None:
    """What is above the limit is theirs up to a reserve."""
    stock(redis)
    fill(redis, 1.02)
    with pytest.raises(StreamFull):
        publish(redis, event(1))
    async with replies.lease() as lease:
        assert lease is not None
        sent = await lease.put([reply(number) for number in range(20)])

    assert (sent, redis.xlen(REPLIES)) == (20, 20)


@asynccontextmanager
async def stepper(url: str, before: Callable[[int], None]) -> AsyncIterator[AsyncRedis]:
    """A client whose script calls reach Redis one by one; ``before`` gets the number of each."""
    place, calls = urlsplit(url), count(1)
    script = re.compile(rb"(?=\*\d+\r\n\$7\r\nEVALSHA\r\n)")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(place.hostname, place.port)
        replies = asyncio.create_task(pass_on(from_server, writer))
        while body := await reader.read(2**20):
            for request in filter(None, script.split(body)):
                if script.match(request):
                    await asyncio.sleep(0.01)  # Redis has handled the previous call
                    before(next(calls))
                to_server.write(request)
        to_server.close()
        await replies

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while body := await reader.read(2**20):
            writer.write(body)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        behind = place._replace(netloc=f"{place.username}:{place.password}@127.0.0.1:{port}").geturl()
        async with connect(behind) as client:
            yield client


@pytest.mark.parametrize("phase", [0, 1])
async def test_replies_keep_their_order_when_memory_is_freed_in_the_middle(
    redis: Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch, phase: int
) -> None:
    """A reply that Redis refused is sent before the next one, although the next one would be accepted."""
    monkeypatch.setattr(once_stream, "BATCH", 5)
    stock(redis)
    limits = ("0", str(round(used(redis) / 1.02)))
    numbers = range(15)
    async with stepper(redis_url, lambda call: set_limit(redis, limits[(call + phase) % 2])) as client:
        stream = OnceStream(client, REPLIES)
        async with stream.lease() as lease:
            assert lease is not None
            sent = await lease.put([reply(number) for number in numbers])
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", redis.xrange(REPLIES))

    assert sent == len(numbers)
    assert [fields[b"key"].decode() for _, fields in entries] == [f"k{number}" for number in numbers]


async def test_a_reply_that_cannot_be_added_leaves_nothing_behind_and_no_later_reply_passes_it(
    redis: Redis, replies: OnceStream
) -> None:
    """Its mark is set only after it, so that a repetition sends it."""
    redis.set(REPLIES, "another type")
    async with replies.lease() as lease:
        assert lease is not None
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            await lease.put([reply(1), reply(2)])
    redis.delete(REPLIES)
    async with replies.lease() as lease:
        assert lease is not None
        await lease.put([reply(1), reply(2)])

    assert redis.xlen(REPLIES) == 2


async def test_replies_wait_when_the_reserve_is_used_up_too(redis: Redis, replies: OnceStream) -> None:
    """A reply stream without a reader cannot grow without limit; the outbox keeps unsent replies."""
    stock(redis)
    fill(redis, 1 + RESERVE + 0.05)
    async with replies.lease() as lease:
        assert lease is not None
        with pytest.raises(StreamFull, match="beyond the reserve"):
            await lease.put([reply(1)])

    assert redis.xlen(REPLIES) == 0


def test_a_publisher_is_told_what_was_published_and_what_was_not(redis: Redis) -> None:
    """Batches are published whole or not at all, so that a repetition keeps the order of conversations."""
    publish_many(redis, [event(number) for number in range(600)])
    redis.config_set("maxmemory", str(used(redis) + 2**20))
    length = redis.xlen(STREAM)
    with pytest.raises(StreamFull) as refused:
        publish_many(redis, [{**event(number), "text": "secret" * 200} for number in range(5000)])
    published = refused.value.published
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", redis.xrange(STREAM))[length:]

    assert 0 < len(published) < 5000
    assert [entry_id.decode() for entry_id, _ in entries] == list(published)
    assert [json.loads(fields[b"data"])["event_id"] for _, fields in entries] == [
        f"full-{number}" for number in range(len(published))
    ]
    assert "secret" not in str(refused.value)


def test_the_command_says_how_many_were_published(
    redis: Redis, redis_url: str, database_url: str, tmp_path: Path
) -> None:
    """An exit code of its own, with words for what to do."""
    stock(redis)
    fill(redis, 1.02)
    shell = Shell(environment={"DATABASE_URL": database_url, "REDIS_URL": redis_url}, folder=tmp_path)
    ended = shell.run("publish", "-", stdin=json.dumps(event(1)).encode())

    assert ended.code == ExitCode.UNAVAILABLE
    assert "Redis is full: 0 of 1 were published" in ended.err


async def test_the_worker_warns_once_before_the_limit_and_says_when_it_is_over(
    redis: Redis, redis_url: str
) -> None:
    """At 80 % there is still time to act."""
    stock(redis)
    async with AsyncRedis.from_url(redis_url) as client:
        watch = MemoryWatch(client, "hushgate:events")
        with capture_logs() as logs:
            for share in (0.5, 0.85, 0.85, 0.78, 0.6, 0.85):
                fill(redis, share)
                await watch.look()

    assert [entry["event"] for entry in logs] == ["redis_nearly_full", "redis_has_room", "redis_nearly_full"]


@pytest.mark.parametrize(
    ("used_bytes", "limit", "state"),
    [(79, 100, "ok"), (81, 100, "warn"), (101, 100, "fail"), (10**9, 0, "ok")],
)
def test_doctor_compares_memory_with_its_limit(used_bytes: int, limit: int, state: str) -> None:
    """A warning before publishing fails, a failure when it does."""
    info = {"used_memory": used_bytes + 7, "mem_not_counted_for_evict": 7, "maxmemory": limit}
    check = memory_check(info)

    assert check.state == state
    assert bool(check.fix) == (state != "ok")
