"""A warning at start when the worker's database login has more rights than a worker needs."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from db.pool import Pool
from db.rights import session_login
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

RETRY_S: Final = 1.0


async def warn_of_excess(source: Pool) -> None:
    """Check once, as soon as Postgres answers."""
    while True:
        try:
            found = await session_login(source)
        except StorageUnavailable:
            await asyncio.sleep(RETRY_S)
            continue
        if found.excess:
            log.warning("worker_login_has_owner_rights", login=found.name, rights=list(found.excess))
        return
