"""A warning at start when the database login of the review pages has more rights than they need."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from db.rights import session_login
from review.http.visit import Site
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

RETRY_S: Final = 1.0


async def run(site: Site) -> None:
    """Check the login once, as soon as Postgres answers."""
    while True:
        try:
            found = await session_login(site.store.pool)
        except StorageUnavailable:
            await asyncio.sleep(RETRY_S)
            continue
        if found.excess:
            log.warning("review_login_has_owner_rights", login=found.name, rights=list(found.excess))
        return
