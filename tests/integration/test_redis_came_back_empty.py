"""Redis away: closed connections count as lost, and what repair sends when its data is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop
from kombu.connection import Connection
from redis.asyncio.connection import SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as ConnectionLost

from cli.doctor.redis_data import redis_data
from cli.exit_codes import ExitCode
from db.repair.model import Breach
from tasks.broker import LosableChannel, use_losable_channels
from tasks.shards.agreement import agree
from tasks.shards.clients import close, connect
from tasks.shards.connections import REPORTING
from tests.support.repairs import (
    REPLIES,
    STREAM,
    World,
    deliver,
    new_world,  # noqa: F401  # the fixture ``world``
    record,
)
from worker.settings import Settings

AGO = "UPDATE outbox SET delivered_at = delivered_at - interval '1 hour'"


def emptied(world: World) -> None:
    """Replies of an hour ago; then Redis loses everything, and one more reply is sent."""
    for _ in range(3):
        record(world)
    deliver(world)
    world.sql(AGO)
    world.redis.flushall()
    agree(world.redis, STREAM, 1)
    record(world)
    deliver(world)


def settings_of(world: World) -> Settings:
    """Settings of doctor."""
    return Settings.model_validate(
        {
            "DATABASE_URL": world.url,
            "REDIS_URL": world.shell.environment["REDIS_URL"],
            "OPENAI_API_KEY": "sandbox",
            "OPENROUTER_API_KEY": "sandbox",
        }
    )


def test_doctor_says_so_and_names_the_start(world: World) -> None:
    """Before the loss it says nothing; afterwards when, how many replies, and --since."""
    record(world)
    deliver(world)
    (before,) = redis_data(settings_of(world))
    emptied(world)
    (after,) = redis_data(settings_of(world))

    assert (before.state, after.state) == ("ok", "warn")
    assert "Redis came back empty at" in after.found
    assert "hushgate repair --since" in after.found


def test_nothing_that_was_delivered_before_is_sent_again(world: World) -> None:
    """The sums are repaired without it, and repairing every kind by name sends no reply."""
    emptied(world)
    reported = world.repair()
    counted = world.repair("--fix", Breach.ENTRIES_UNCOUNTED, "--yes")
    world.repair("--fix", Breach.REPLY_NOT_ON_STREAM, "--yes")
    deliver(world)

    assert {row["breach"] for row in reported.rows} == {Breach.ENTRIES_UNCOUNTED}
    assert "Redis came back empty at" in reported.err
    assert counted.code == ExitCode.OK
    assert world.redis.xlen(REPLIES) == 1


def test_a_person_may_choose_the_start(world: World) -> None:
    """With --since the replies of before are named again."""
    emptied(world)

    assert (
        len(
            [row for row in world.repair("--since", "2h").rows if row["breach"] == Breach.REPLY_NOT_ON_STREAM]
        )
        == 3
    )


async def _send_after(end: str, url: str) -> None:
    redis: Any = connect(url)
    connection: Any = redis.connection_pool.make_connection()
    await connection.connect()
    getattr(connection._writer.transport, end)()
    try:
        await connection.send_command("PING")
    finally:
        await close(redis)


@pytest.mark.parametrize("end", ["abort", "close"])
@pytest.mark.parametrize("run", [uvloop.run, asyncio.run])
def test_a_command_on_a_closed_connection_is_a_lost_connection(
    redis_url: str, run: Callable[[Coroutine[Any, Any, None]], None], end: str
) -> None:
    """The loop raises RuntimeError there, or TypeError (Python 3.13), which would end the engine."""
    with pytest.raises(ConnectionLost):
        run(_send_after(end, redis_url))


async def _closed_by_another_task(url: str, before: str) -> None:
    redis: Any = connect(url)
    connection: Any = redis.connection_pool.make_connection()
    await connection.connect()
    if before == "command":  # which waits, unlike a list of bytes that is sent at once
        connection.check_health = connection.disconnect
        await connection.send_packed_command(b"PING\r\n")
    await connection.send_command("PING")
    connection._parser._stream = None
    try:
        await connection.read_response()
    finally:
        await close(redis)


@pytest.mark.parametrize("before", ["command", "answer"])
def test_a_connection_that_another_task_closes_is_a_lost_connection(redis_url: str, before: str) -> None:
    """A cluster's client does so when a node is lost; redis-py then raises AttributeError of None."""
    with pytest.raises(ConnectionLost, match=f"closed before the {before}"):
        uvloop.run(_closed_by_another_task(redis_url, before))


async def _kinds() -> list[type]:
    single: list[Any] = [connect(url) for url in ("rediss://127.0.0.1:1/0", "unix:///nowhere")]
    cluster: Any = connect("redis+cluster://127.0.0.1:1")
    found = [type(each.connection_pool.make_connection()) for each in single]
    nodes = [node.connection_class for node in cluster.nodes_manager.startup_nodes.values()]
    for each in (*single, cluster):
        await close(each)
    return [*found, *nodes, cluster.nodes_manager.connection_kwargs["connection_class"]]


def test_every_way_to_redis_reports_closed_connections() -> None:
    """TLS, Unix sockets and the nodes of a cluster too."""
    ways = uvloop.run(_kinds())

    assert ways[:2] == [REPORTING[SSLConnection], REPORTING[UnixDomainSocketConnection]]
    assert len(ways) == 4
    assert set(ways[2:]) <= set(REPORTING.values())


def test_a_closed_connection_is_a_lost_one(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Kombu's AttributeError Celery ends the worker, as ``make chaos`` saw after SIGKILLs of Valkey."""
    monkeypatch.setattr("kombu.transport._transport_cache", {})  # another test may have used Kombu's own
    use_losable_channels()
    connection: Any = Connection(redis_url)  # type: ignore[no-untyped-call]
    channel = connection.default_channel
    lost = connection.connection_errors
    connection.release()

    assert isinstance(channel, LosableChannel)
    with pytest.raises(lost, match="was closed"):
        channel.pool  # noqa: B018  # what every command of a channel reads
