"""The review pages' connections, in a role that may read the audit and append to it, never change it."""

from __future__ import annotations

import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any, Final, Self

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from db.migrate import driver_url
from db.pool import OUTAGES, Pool, pool
from worker.errors import StorageUnavailable

REVIEWER_ROLE: Final = "hushgate_reviewer"
STATEMENT_S: Final = 10
"""Longest statement a page waits for; whatever needs longer is a job."""
CONNECTING: Final = {
    "application_name": "hushgate-review",
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}


class Store:
    """Postgres as the review pages see it.

    Args:
        url: of the database; the login must be a member of ``hushgate_reviewer``.
        size: connections kept for each of the two ways in.
    """

    def __init__(self, url: str, *, size: int = 8) -> None:
        self._engine: AsyncEngine = create_async_engine(
            driver_url(url),
            pool_size=size,
            max_overflow=0,
            pool_timeout=10,
            hide_parameters=True,  # an error's text goes to the log; notes and messages do not
            connect_args=CONNECTING,
        )
        self._readers = self._engine.execution_options(postgresql_readonly=True)
        self._singles = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        sa.event.listen(self._engine.sync_engine, "connect", _prepare)
        sa.event.listen(self._engine.sync_engine, "checkout", _refuse_dead)
        self.pool: Pool = pool(url, size=2, application="hushgate-review", role=REVIEWER_ROLE)

    async def __aenter__(self) -> Self:
        await self.pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()
        await self._engine.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection in one transaction that only reads.

        Raises:
            StorageUnavailable: Postgres is away.
        """
        async with _connected(self._readers) as connection:
            yield connection

    @asynccontextmanager
    async def single(self) -> AsyncIterator[AsyncConnection]:
        """A connection on which every statement is a transaction of its own, for who needs just one.

        Raises:
            StorageUnavailable: Postgres is away.
        """
        async with _connected(self._singles) as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A connection in one transaction, committed at the end unless something was raised.

        Raises:
            StorageUnavailable: Postgres is away.
        """
        async with _connected(self._engine) as connection:
            yield connection
            await connection.commit()


@asynccontextmanager
async def _connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    try:
        async with engine.connect() as connection:
            yield connection
    except (sa.exc.TimeoutError, sa.exc.DBAPIError) as error:
        cause = getattr(error, "orig", None) or error
        if isinstance(cause, (*OUTAGES, sa.exc.TimeoutError)):
            raise StorageUnavailable(f"Postgres: {cause}", kind=type(cause).__name__) from error
        raise


def _prepare(connection: sa.PoolProxiedConnection, _record: object) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"SET ROLE {REVIEWER_ROLE}")
        cursor.execute(f"SET statement_timeout = '{STATEMENT_S}s'")
        cursor.execute("SET TIME ZONE 'UTC'")
    connection.commit()


def _refuse_dead(_dbapi: object, record: Any, _proxy: object) -> None:  # noqa: ANN401  # a pool's record
    """Have a connection replaced whose server is gone: its socket can be read, though nothing was asked.

    A ping would tell the same for a round trip each time; keep-alives close what goes away in silence.
    """
    socket = select.poll()
    socket.register(record.driver_connection.fileno(), select.POLLIN)
    if socket.poll(0):
        raise sa.exc.DisconnectionError("the server closed the connection")
