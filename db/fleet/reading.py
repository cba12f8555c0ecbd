"""Reading figures on a connection of their own; every failure is ``StorageUnavailable``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from db.audit.decision_list import read_connection
from db.connection import Connection
from worker.errors import StorageUnavailable


@asynccontextmanager
async def figures_connection(url: str) -> AsyncIterator[Connection]:
    """A read-only connection.

    Raises:
        StorageUnavailable: Postgres did not answer, or refused the read; ``kind`` says how.
    """
    try:
        async with read_connection(url) as connection:
            yield connection
    except psycopg.Error as error:
        raise StorageUnavailable("Postgres: the figures were not read", kind=type(error).__name__) from error
