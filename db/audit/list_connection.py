"""The connection of a command that reads lists: to the replica where it answers and is recent enough."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import psycopg
import structlog

from db.audit.decision_list import read_connection
from db.connection import Connection
from db.sessions import read_replica
from db.sessions.read_replica import ReplicaLag, replica_lag, written_position

log = structlog.get_logger(__name__)


@asynccontextmanager
async def list_connection(url: str, *, replica_url: str | None) -> AsyncIterator[Connection]:
    """A read-only connection; to the primary, with one log line, where the replica cannot be used."""
    async with AsyncExitStack() as opened:
        connection = await _usable_replica(opened, url, replica_url) if replica_url else None
        if connection is None:
            connection = await opened.enter_async_context(read_connection(url))
        yield connection


async def load_lag(url: str, replica_url: str) -> ReplicaLag:
    """The lag of the replica now; raises what connections raise."""
    async with read_connection(url) as primary:
        written = await written_position(primary)
    async with read_connection(replica_url) as replica:
        return await replica_lag(replica, written)


async def _usable_replica(opened: AsyncExitStack, url: str, replica_url: str) -> Connection | None:
    async with read_connection(url) as primary:
        written = await written_position(primary)
    try:
        connection = await opened.enter_async_context(read_connection(replica_url))
        found = await replica_lag(connection, written)
    except psycopg.Error as error:
        log.warning("read_replica_left", kind=type(error).__name__)
        return None
    if found.lag_s is None or found.lag_s > read_replica.MOST_LAG_S:
        log.warning("read_replica_left", kind="behind", lag_s=found.lag_s)
        return None
    await connection.rollback()  # the first statement of a reader begins its transaction
    return connection
