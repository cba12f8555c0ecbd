"""Work with a pool of connections, in a test that is not asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from db.pool import WORKER_ROLE, Pool, create_pool

Value = TypeVar("Value")


def in_pool(
    url: str, work: Callable[[Pool], Awaitable[Value]], *, role: str | None = WORKER_ROLE, size: int = 2
) -> Value:
    """What ``work`` returns for a pool with the rights of a role; None keeps those of the login."""

    async def opened() -> Value:
        async with create_pool(url, size=size, application="test", role=role) as source:
            return await work(source)

    return asyncio.run(opened())
