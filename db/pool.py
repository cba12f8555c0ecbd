"""Pools of connections: autocommit, in the role of one service, ready for our statements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import IsolationLevel
from psycopg.pq import PipelineStatus
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool

from db.connection import Connection
from db.faults import Fault, answer_of, fault_of
from db.rows import Row, Shape, Values, all_rows, first_value, rows_as
from db.sessions.pooler import through_pooler
from db.sessions.prepared import SET_ALL
from worker.errors import StorageUnavailable

WORKER_ROLE: Final = "hushgate_worker"
AUDIT_ROLE: Final = "hushgate_audit"
"""The role of the process that appends to the transparency log."""
GATEWAY_ROLE: Final = "hushgate_gateway"
CHECKOUT_S: Final = 30.0
"""Longest wait for a connection: over 1,000 lanes may wait for ten, which is not an outage."""

RECONNECT_S: Final = 0.5
"""Pause after a failed connection. The pool's own pauses double up to five minutes: workers
were idle for 40 s after an outage of 76 s."""

CONNECTION_LIMITS: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # the default for unacknowledged data is 15 minutes
}

STATEMENT_S: Final = 30
"""Longest statement of a worker."""

Pool: TypeAlias = "AsyncConnectionPool[Connection]"


def create_pool(
    url: str,
    *,
    size: int,
    application: str,
    role: str | None = WORKER_ROLE,
    statement_s: int = STATEMENT_S,
    checkout_s: float = CHECKOUT_S,
    lost: Callable[[], None] = lambda: None,
) -> Pool:
    """A closed pool; open it within the event loop that uses it.

    Connections drop every right that ``role`` does not have; None keeps the rights of the login.
    ``lost`` is called after each failed connection attempt. A statement is cancelled after ``statement_s``.
    """

    async def configure(connection: Connection) -> None:
        await prepare(connection, role, statement_s)

    async def reconnect(source: Pool) -> None:
        lost()
        if source.get_stats()["requests_waiting"]:  # nothing else retries for callers that already wait
            await source.check()

    return AsyncConnectionPool(
        url,
        connection_class=Connection,
        kwargs={"autocommit": True, "application_name": application, **CONNECTION_LIMITS},
        min_size=1,
        max_size=size,
        open=False,
        timeout=checkout_s,
        configure=configure,
        reconnect_timeout=RECONNECT_S,
        reconnect_failed=reconnect,
    )


async def prepare(connection: Connection, role: str | None, statement_s: int = STATEMENT_S) -> None:
    """Drop the rights that ``role`` does not have, and set what statements depend on.

    Behind a pooler only the isolation of transactions, which each of them names; the login sets the rest.
    """
    await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
    if await through_pooler(connection):
        return
    await connection.execute(SET_ALL)
    if role is not None:
        await connection.execute(SQL("SET ROLE {}").format(Identifier(role)))
    await connection.execute(f"SET statement_timeout = '{statement_s}s'")


async def check_reachable(url: str) -> None:
    """Connect once without retries, for interactive commands; a pool would retry for ``CHECKOUT_S``.

    Raises:
        StorageUnavailable: Postgres is unreachable or refuses the login.
    """
    try:
        connection = await Connection.connect(url, connect_timeout=5)
    except psycopg.Error as error:
        raise unavailable(error) from error
    await connection.close()


@asynccontextmanager
async def checkout(source: Pool) -> AsyncIterator[Connection]:
    """One connection for one statement or transaction.

    psycopg 3.3.9 leaves a connection in pipeline mode when a pipeline is cancelled as it begins, on a busy
    event loop. Later statements there return their rows and are not committed, so events would be lost.

    Raises:
        StorageUnavailable: Postgres is unreachable, the connection broke, or the server failed.
        psycopg.Error: Postgres refused the values of the statement.
    """
    try:
        async with source.connection() as connection:
            try:
                yield connection
            finally:
                if connection.pgconn.pipeline_status != PipelineStatus.OFF:
                    await connection.close()  # the pool would hand it out again
    except psycopg.Error as error:
        if fault_of(error) is Fault.INPUT:
            raise
        raise unavailable(error) from error


async def fetch_rows(source: Pool, statement: str, values: Values = ()) -> list[TupleRow]:
    """All rows of one statement; raises what ``checkout`` raises."""
    async with checkout(source) as connection:
        return await (await connection.execute(statement, values)).fetchall()


async def fetch_dicts(source: Pool, statement: str, values: Values = ()) -> list[Row]:
    """All rows of one statement by column name; raises what ``checkout`` raises."""
    async with checkout(source) as connection:
        return list(await all_rows(connection, statement, values))


async def fetch_as(source: Pool, shape: type[Shape], statement: str, values: Values = ()) -> list[Shape]:
    """All rows of one statement, each as a ``shape`` whose fields are the columns; raises as ``checkout``."""
    async with checkout(source) as connection:
        return list(await rows_as(connection, shape, statement, values))


async def fetch_one_as(source: Pool, shape: type[Shape], statement: str, values: Values = ()) -> Shape | None:
    """The first row as a ``shape``; None without a row. Raises what ``checkout`` raises."""
    return next(iter(await fetch_as(source, shape, statement, values)), None)


async def fetch_value(source: Pool, statement: str, values: Values = ()) -> Any:
    """The first column of the first row; None without a row. Raises what ``checkout`` raises."""
    async with checkout(source) as connection:
        return await first_value(connection, statement, values)


def unavailable(error: psycopg.Error) -> StorageUnavailable:
    """A Postgres error as ``StorageUnavailable``."""
    answer, may_be_input = answer_of(error), fault_of(error) is not Fault.SERVER
    return StorageUnavailable(f"Postgres: {answer}", kind=type(error).__name__, may_be_input=may_be_input)
