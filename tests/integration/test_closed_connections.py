"""A connection to Redis that is closed before a command counts as lost, under the loop of the workers."""

from __future__ import annotations

from typing import Any

import pytest
import uvloop
from redis.asyncio.connection import SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as ConnectionLost

from tasks.shards.clients import close, connect
from tasks.shards.connections import REPORTING


async def _send_after_reset(url: str) -> None:
    redis: Any = connect(url)
    connection: Any = redis.connection_pool.make_connection()
    await connection.connect()
    connection._writer.transport.abort()
    try:
        await connection.send_command("PING")
    finally:
        await close(redis)


def test_a_command_on_a_closed_connection_is_a_lost_connection(redis_url: str) -> None:
    """Uvloop raises RuntimeError there, which would end the engine."""
    with pytest.raises(ConnectionLost, match="closed before the command"):
        uvloop.run(_send_after_reset(redis_url))


async def _closed_by_another_task(url: str, before: str) -> None:
    redis: Any = connect(url)
    connection: Any = redis.connection_pool.make_connection()
    await connection.connect()
    if before == "command":
        connection.check_health = connection.disconnect
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
