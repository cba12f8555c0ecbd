"""The review pages' connections, in a role that may read the audit and append to it, never change it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Final, Self

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from db.migrate import driver_url
from db.pool import OUTAGES, Pool, pool
from worker.errors import StorageUnavailable

REVIEWER_ROLE: Final = "hushgate_reviewer"
STATEMENT_S: Final = 10
"""Longest statement a page waits for; whatever needs longer is a job."""


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
            pool_pre_ping=True,
            hide_parameters=True,  # an error's text goes to the log; notes and messages do not
            connect_args={"connect_timeout": 5, "application_name": "hushgate-review"},
        )
        sa.event.listen(self._engine.sync_engine, "connect", _prepare)
        self.pool: Pool = pool(url, size=2, application="hushgate-review", role=REVIEWER_ROLE)

    async def __aenter__(self) -> Self:
        await self.pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()
        await self._engine.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that only reads.

        Raises:
            StorageUnavailable: Postgres is away.
        """
        async with self._connection() as connection:
            await connection.execution_options(postgresql_readonly=True)
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A connection in one transaction, committed at the end unless something was raised.

        Raises:
            StorageUnavailable: Postgres is away.
        """
        async with self._connection() as connection:
            yield connection
            await connection.commit()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._engine.connect() as connection:
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
