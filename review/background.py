"""Background tasks of the server: jobs, figures, queues, expired rows, and a check of the database login."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import structlog

from db.people import invitations, sessions, sign_ins
from db.schema.rights import session_login
from features.jobs import Process, jobs_of
from review.http.visit import Site
from worker.errors import StorageUnavailable
from worker.supervisor import Supervisor

log = structlog.get_logger(__name__)

RETRY_S: Final = 1.0


async def sweep_expired_access(site: Site) -> None:
    """Delete expired sessions, sign-ins, counted attempts, links and invitations."""
    now = site.now()
    async with site.store.writing() as connection:
        await sessions.delete_expired_sessions(connection, now=now)
        await sign_ins.delete_expired_sign_ins(connection, now=now)
        await invitations.delete_expired_invitations(connection, now=now)


async def check_login_rights(site: Site) -> None:
    """Warn, as soon as Postgres answers, when the database login has more rights than the pages need."""
    while True:
        try:
            found = await session_login(site.store.pool)
        except StorageUnavailable:
            await asyncio.sleep(RETRY_S)
            continue
        if found.excess:
            log.warning("review_login_has_owner_rights", login=found.name, rights=list(found.excess))
        return


@asynccontextmanager
async def run_background(site: Site) -> AsyncIterator[None]:
    """Run the jobs of the server; end them with it."""
    work = Supervisor(site.job_failed)
    for job in jobs_of(Process.REVIEW):
        work.loop(job.name, job.of(site))
    work.once("check_login_rights", partial(check_login_rights, site))
    try:
        yield
    finally:
        await work.close()
