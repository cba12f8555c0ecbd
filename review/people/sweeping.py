"""Deletes what has expired: sessions, sign-ins under way, counted tries, links."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from db import sessions, sign_ins
from review.web import Site
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

EVERY_S: Final = 300.0


async def run(site: Site) -> None:
    """Sweep now and then until cancelled; an outage of the database is waited for."""
    while True:
        try:
            await sweep(site)
        except StorageUnavailable as error:
            log.warning("review_sweep_postponed", kind=error.kind)
        await asyncio.sleep(EVERY_S)


async def sweep(site: Site) -> None:
    """Delete what has expired by now."""
    now = site.now()
    async with site.store.writing() as connection:
        await sessions.sweep(connection, now=now, idle=timedelta(seconds=site.settings.review_idle_s))
        await sign_ins.sweep(connection, now=now)
