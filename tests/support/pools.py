"""Connections to Postgres in tests that are not asynchronous."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import psycopg

from db.pool import WORKER_ROLE, Pool, create_pool

Value = TypeVar("Value")
START_S: Final = 60.0


def in_pool(
    url: str, work: Callable[[Pool], Awaitable[Value]], *, role: str | None = WORKER_ROLE, size: int = 2
) -> Value:
    """What ``work`` returns for a pool with the rights of a role; None keeps those of the login."""

    async def opened() -> Value:
        async with create_pool(url, size=size, application="test", role=role) as source:
            return await work(source)

    return asyncio.run(opened())


def until_ready(url: str) -> None:
    """Wait until a server that was started takes connections at this address."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
