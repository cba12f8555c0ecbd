"""Background tasks of the server: jobs, figures, queues, expired rows, and a check of the database login."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import structlog

from db.people import invitations, sessions, sign_ins
from db.schema.rights import session_login
from features.feature import items
from review import job_runner
from review.dashboard import figure_counter
from review.http.visit import Site
from review.queues import queue_filler
from worker.errors import StorageUnavailable
from worker.supervisor import Supervisor, name_of

log = structlog.get_logger(__name__)

SWEEP_S: Final = 300.0
RETRY_S: Final = 1.0


async def sweep_expired_access(site: Site) -> None:
    """Delete expired sessions, sign-ins, counted attempts, links and invitations, forever."""
    while True:
        try:
            now = site.now()
            async with site.store.writing() as connection:
                await sessions.delete_expired_sessions(connection, now=now)
                await sign_ins.delete_expired_sign_ins(connection, now=now)
                await invitations.delete_expired_invitations(connection, now=now)
        except StorageUnavailable as error:
            log.warning("review_sweep_postponed", kind=error.kind)
        await asyncio.sleep(SWEEP_S)


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


TASKS: Final[tuple[Callable[[Site], Awaitable[None]], ...]] = (
    *(job_runner.run_jobs,) * job_runner.AT_ONCE,
    job_runner.sweep_jobs,
    figure_counter.run_counter,
    sweep_expired_access,
    queue_filler.run,
)
"""Tasks that run while the server runs; one that a bug ends starts again."""


@asynccontextmanager
async def run_background(site: Site) -> AsyncIterator[None]:
    """Run the tasks; end them with the server."""
    work = Supervisor(site.job_failed)
    for task in (*TASKS, *items("background")):
        work.loop(name_of(task), partial(task, site))
    work.once(name_of(check_login_rights), partial(check_login_rights, site))
    try:
        yield
    finally:
        await work.close()
