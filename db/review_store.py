"""The review pages' connections, in a role that may read the audit and append to it, never change it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from select import POLLIN, poll
from typing import Final, Self

import psycopg
from psycopg_pool import PoolTimeout

from db.connection import Connection
from db.faults import Fault, fault_of
from db.pool import RECONNECT_S, Pool, create_pool, unavailable
from db.sessions.read_replica import Read, ReadReplica, Value

REVIEWER_ROLE: Final = "hushgate_reviewer"
STATEMENT_S: Final = 10
"""Longest statement a page waits for; longer work is a job."""
CHECKOUT_S: Final = 10.0
"""Longest wait for a connection while Postgres answers."""
OUTAGE_S: Final = 2 * RECONNECT_S
"""Longest wait for a connection while Postgres does not answer."""


class Store:
    """The review pages' connections to Postgres; each raises ``StorageUnavailable`` during an outage.

    A request holds at most one connection: with a second one, requests could wait for each other.

    Args:
        url: of the database; the login must be a member of ``role``.
        replica_url: of a replica for ``read_lists``; None: the database itself.
    """

    def __init__(
        self,
        url: str,
        *,
        size: int = 10,
        replica_url: str | None = None,
        role: str = REVIEWER_ROLE,
    ) -> None:
        self._primary = _Source(url, size, role)
        self._secondary = _Source(replica_url, size, role) if replica_url else None
        self._replica: ReadReplica | None = None
        if self._secondary is not None:
            self._replica = ReadReplica(primary=self.reading, replica=self._secondary.reading)
        self.pool: Pool = self._primary.pool

    async def __aenter__(self) -> Self:
        await self._primary.pool.open()
        if self._secondary is not None:
            await self._secondary.pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._primary.pool.close()
        if self._secondary is not None:
            await self._secondary.pool.close()

    async def read_lists(self, read: Read[Value]) -> Value:
        """What ``read`` returns for a connection that only reads, to the replica where there is one.

        For lists, figures and exports: rows of the last seconds may be missing. ``read`` may run twice.
        """
        if self._replica is not None:
            return await self._replica.read(read)
        async with self.reading() as connection:
            return await read(connection)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """A connection in one transaction that only reads."""
        async with self._primary.reading() as connection:
            yield connection

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Connection]:
        """A connection in autocommit mode: each statement sees its own moment."""
        async with self._primary.connected() as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """A connection in one transaction, committed at the end unless something was raised."""
        async with self._primary.connected() as connection, connection.transaction():
            yield connection


class _Source:
    """The connections to one server."""

    def __init__(self, url: str, size: int, role: str) -> None:
        self._failed = 0
        self.pool: Pool = create_pool(
            url,
            size=size,
            application="hushgate-review" if role == REVIEWER_ROLE else "hushgate-gateway",
            role=role,
            statement_s=STATEMENT_S,
            checkout_s=CHECKOUT_S,
            lost=self._lost,
        )

    def _lost(self) -> None:
        self._failed += 1

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        async with self.connected() as connection:
            await connection.set_read_only(True)
            try:
                async with connection.transaction():
                    yield connection
            finally:
                if not connection.closed:
                    await connection.set_read_only(None)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        try:
            connection = await self._checkout()
            try:
                yield connection
            finally:
                await self.pool.putconn(connection)
        except psycopg.Error as error:
            if _is_outage(error):
                raise unavailable(error) from error
            raise

    async def _checkout(self) -> Connection:
        while True:
            connection = await self._getconn()
            if not _is_closed(connection):
                return connection
            await connection.close()
            await self.pool.putconn(connection)

    async def _getconn(self) -> Connection:
        before = self._failed
        try:
            return await self.pool.getconn(OUTAGE_S)
        except PoolTimeout:
            if self._failed > before:
                raise
        return await self.pool.getconn(CHECKOUT_S - OUTAGE_S)


def _is_outage(error: psycopg.Error) -> bool:
    """Whether an error counts as an outage of Postgres; wrong SQL of ours is a bug and is raised."""
    fault = fault_of(error)
    return fault is Fault.SERVER or (
        fault is Fault.UNCLEAR and not isinstance(error, psycopg.ProgrammingError)
    )


def _is_closed(connection: Connection) -> bool:
    """Whether the server closed the connection: its socket is readable although no query runs.

    A ping would cost a round trip each time; keep-alives close connections that break silently.
    """
    socket = poll()
    socket.register(connection.fileno(), POLLIN)
    return bool(socket.poll(0))
