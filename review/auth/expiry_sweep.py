"""Deletes expired sessions, sign-ins in progress, counted attempts, links and invitations."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from db.people import invitations, sessions, sign_ins
from review.http.visit import Site
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

EVERY_S: Final = 300.0


async def run_sweeps(site: Site) -> None:
    """Sweep every ``EVERY_S`` until cancelled; after an outage of the database, try again then."""
    while True:
        try:
            await sweep_once(site)
        except StorageUnavailable as error:
            log.warning("review_sweep_postponed", kind=error.kind)
        await asyncio.sleep(EVERY_S)


async def sweep_once(site: Site) -> None:
    """Delete everything that has expired."""
    now = site.now()
    async with site.store.writing() as connection:
        await sessions.delete_expired_sessions(
            connection, now=now, idle=timedelta(seconds=site.settings.review_idle_s)
        )
        await sign_ins.delete_expired_sign_ins(connection, now=now)
        await invitations.delete_expired_invitations(connection, now=now)
