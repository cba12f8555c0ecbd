"""The hot path's connections: psycopg, autocommit, in the worker's own role."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from worker.errors import StorageUnavailable

WORKER_ROLE: Final = "hushgate_worker"
CHECKOUT_S: Final = 30.0
"""Longest wait for a connection: over 1,000 lanes may queue for ten of them, and a queue is no outage."""

Connection: TypeAlias = "psycopg.AsyncConnection[TupleRow]"
Pool: TypeAlias = "AsyncConnectionPool[Connection]"

OUTAGES: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
    # what is missing or forbidden is the deployment's fault, never an entry's
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedObject,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.InsufficientPrivilege,
    psycopg.NotSupportedError,  # a prepared statement that a migration made stale
    psycopg.errors.InvalidSqlStatementName,  # a prepared statement that a connection proxy lost
    PoolTimeout,
    TooManyRequests,
)


def pool(url: str, *, size: int, application: str, role: str | None = WORKER_ROLE) -> Pool:
    """A closed pool; open it inside the loop that uses it.

    Connections give up every right that ``role`` does not have, whoever the login is; None keeps them all.
    """
    options: dict[str, Any] = {
        "autocommit": True,
        "application_name": application,
        "connect_timeout": 5,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
    }

    async def configure(connection: Connection) -> None:
        if role is not None:
            await connection.execute(SQL("SET ROLE {}").format(Identifier(role)))
        await connection.execute("SET statement_timeout = '30s'")

    return AsyncConnectionPool(
        url, kwargs=options, min_size=1, max_size=size, open=False, timeout=CHECKOUT_S, configure=configure
    )


async def reach(url: str) -> None:
    """Connect once and at once, for a person who waits; a pool would try again for ``CHECKOUT_S``.

    Raises:
        StorageUnavailable: Postgres is not there, or does not let us in.
    """
    try:
        connection = await psycopg.AsyncConnection.connect(url, connect_timeout=5)
    except OUTAGES as error:
        raise StorageUnavailable(f"Postgres: {error}", kind=type(error).__name__) from error
    await connection.close()


@asynccontextmanager
async def checkout(source: Pool) -> AsyncIterator[Connection]:
    """One connection for one statement or transaction.

    Raises:
        StorageUnavailable: Postgres is not there or went away meanwhile.
    """
    try:
        async with source.connection() as connection:
            yield connection
    except OUTAGES as error:
        raise StorageUnavailable(f"Postgres: {error}", kind=type(error).__name__) from error
    except PoolClosed as error:
        raise StorageUnavailable("Postgres: the pool is closed", kind="PoolClosed") from error


async def answers(source: Pool) -> None:
    """Return when a connection answers.

    Raises:
        StorageUnavailable: it does not.
    """
    async with checkout(source) as connection:
        await connection.execute("SELECT 1")
