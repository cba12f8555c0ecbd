"""Background tasks of the server: jobs, figures, queues, expired rows, and a check of the database login."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from db.people import invitations, sessions, sign_ins
from db.schema.rights import warn_of_excess
from features.jobs import Process, jobs_of
from review.http.visit import Site
from worker.supervisor import Supervisor


async def sweep_expired_access(site: Site) -> None:
    """Delete expired sessions, sign-ins, counted attempts, links and invitations."""
    now = site.now()
    async with site.store.writing() as connection:
        await sessions.delete_expired_sessions(connection, now=now)
        await sign_ins.delete_expired_sign_ins(connection, now=now)
        await invitations.delete_expired_invitations(connection, now=now)


@asynccontextmanager
async def run_background(site: Site) -> AsyncIterator[None]:
    """Run the jobs of the server; end them with it."""
    work = Supervisor(site.job_failed)
    for job in jobs_of(Process.REVIEW):
        work.loop(job.name, job.of(site))
    work.once("warn_of_excess", partial(warn_of_excess, site.store.pool))
    try:
        yield
    finally:
        await work.close()
