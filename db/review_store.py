"""The review pages' connections, in a role that may read the audit and append to it, never change it."""

from __future__ import annotations

import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any, Final, Self

import psycopg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from db.faults import Fault, fault_of
from db.migrate import driver_url
from db.pool import CONNECTION_LIMITS, Pool, create_pool, unavailable
from db.sessions.pooler import BACKEND
from worker.errors import StorageUnavailable

# Pages name the connection, and must not import SQLAlchemy.
__all__ = ["REVIEWER_ROLE", "AsyncConnection", "Store"]

REVIEWER_ROLE: Final = "hushgate_reviewer"
STATEMENT_S: Final = 10
"""Longest statement a page waits for; longer work is a job."""


class Store:
    """The review pages' connections to Postgres; each raises ``StorageUnavailable`` during an outage.

    Args:
        url: of the database; the login must be a member of ``hushgate_reviewer``.
    """

    def __init__(self, url: str, *, size: int = 8) -> None:
        self._engine: AsyncEngine = create_async_engine(
            driver_url(url),
            pool_size=size,
            max_overflow=0,
            pool_timeout=10,
            hide_parameters=True,  # an error's text goes to the log; notes and messages do not
            connect_args={"application_name": "hushgate-review", **CONNECTION_LIMITS},
        )
        self._readers = self._engine.execution_options(postgresql_readonly=True)
        self._singles = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        sa.event.listen(self._engine.sync_engine, "connect", _prepare)
        sa.event.listen(self._engine.sync_engine, "checkout", _refuse_dead)
        self.pool: Pool = create_pool(url, size=2, application="hushgate-review", role=REVIEWER_ROLE)

    async def __aenter__(self) -> Self:
        await self.pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()
        await self._engine.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection in one transaction that only reads."""
        async with _connected(self._readers) as connection:
            yield connection

    @asynccontextmanager
    async def single(self) -> AsyncIterator[AsyncConnection]:
        """A connection in autocommit mode, for callers that need one statement."""
        async with _connected(self._singles) as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A connection in one transaction, committed at the end unless something was raised."""
        async with _connected(self._engine) as connection:
            yield connection
            await connection.commit()


@asynccontextmanager
async def _connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    try:
        async with engine.connect() as connection:
            yield connection
    except sa.exc.TimeoutError as error:
        raise StorageUnavailable(f"Postgres: {error}", kind=type(error).__name__) from error
    except sa.exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error) and _is_outage(error.orig):
            raise unavailable(error.orig) from error
        raise


def _is_outage(error: psycopg.Error) -> bool:
    """Whether an error counts as an outage of Postgres; wrong SQL of ours is a bug and is raised."""
    fault = fault_of(error)
    return fault is Fault.SERVER or (
        fault is Fault.UNCLEAR and not isinstance(error, psycopg.ProgrammingError)
    )


def _prepare(connection: sa.PoolProxiedConnection, _record: object) -> None:
    with closing(connection.cursor()) as cursor:
        if _through_pooler(connection, cursor):
            connection.commit()
            return
        cursor.execute(f"SET ROLE {REVIEWER_ROLE}")
        cursor.execute(f"SET statement_timeout = '{STATEMENT_S}s'")
        cursor.execute("SET TIME ZONE 'UTC'")
    connection.commit()


def _through_pooler(connection: sa.PoolProxiedConnection, cursor: Any) -> bool:
    """As ``db.sessions.pooler``, with a cursor of SQLAlchemy."""
    cursor.execute(BACKEND)
    driver: Any = connection.driver_connection
    if cursor.fetchone()[0] == driver.info.backend_pid:
        return False
    driver.prepare_threshold = None
    return True


def _refuse_dead(_dbapi: object, record: Any, _proxy: object) -> None:
    """Replace a connection whose server closed it: its socket is readable although no query runs.

    A ping would cost a round trip each time; keep-alives close connections that break silently.
    """
    socket = select.poll()
    socket.register(record.driver_connection.fileno(), select.POLLIN)
    if socket.poll(0):
        raise sa.exc.DisconnectionError("the server closed the connection")
