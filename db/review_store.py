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
from db.pool import CONNECTION_LIMITS, Pool, create_pool, unavailable
from db.sessions.driver import driver_url
from db.sessions.pooler import BACKEND
from db.sessions.prepared import SET_ALL
from db.sessions.read_replica import Connect, Read, ReadReplica, Value
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
        replica_url: of a replica for ``read_lists``; None: the database itself.
        most_lag_s: a replica that is further behind is not read.
    """

    def __init__(
        self, url: str, *, size: int = 8, replica_url: str | None = None, most_lag_s: float = 30.0
    ) -> None:
        self._engine = _engine(url, size)
        self._replica_engine = _engine(replica_url, size) if replica_url else None
        self._replica: ReadReplica | None = None
        if self._replica_engine is not None:
            self._replica = ReadReplica(
                primary=self.reading, replica=_reads_of(self._replica_engine), most_lag_s=most_lag_s
            )
        self._readers = self._engine.execution_options(postgresql_readonly=True)
        self._singles = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self.pool: Pool = create_pool(url, size=2, application="hushgate-review", role=REVIEWER_ROLE)

    async def __aenter__(self) -> Self:
        await self.pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()
        await self._engine.dispose()
        if self._replica_engine is not None:
            await self._replica_engine.dispose()

    async def read_lists(self, read: Read[Value]) -> Value:
        """What ``read`` returns for a connection that only reads, to the replica where there is one.

        For lists, figures and exports: rows of the last seconds may be missing. ``read`` may run twice.
        """
        if self._replica is not None:
            return await self._replica.read(read)
        async with self.reading() as connection:
            return await read(connection)

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


def _engine(url: str, size: int) -> AsyncEngine:
    engine = create_async_engine(
        driver_url(url),
        pool_size=size,
        max_overflow=0,
        pool_timeout=10,
        hide_parameters=True,  # an error's text goes to the log; notes and messages do not
        isolation_level="READ COMMITTED",
        connect_args={"application_name": "hushgate-review", **CONNECTION_LIMITS},
    )
    sa.event.listen(engine.sync_engine, "connect", _prepare)
    sa.event.listen(engine.sync_engine, "checkout", _refuse_dead)
    return engine


def _reads_of(engine: AsyncEngine) -> Connect:
    readers = engine.execution_options(postgresql_readonly=True)
    return lambda: _connected(readers)


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
        cursor.execute(SET_ALL)
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
