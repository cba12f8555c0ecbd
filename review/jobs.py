"""Runs what people asked for in the background: one step a transaction, so that a crash costs one step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

import structlog

from db import jobs, people
from db.jobs import Job, JobKind, JobLost, JobState, Step, Transaction
from db.people import Person
from review.access import DEEDS, Right, may_somewhere
from review.lists import exports
from review.lists.exports import ExportRefused
from review.reviewing import bulk
from review.web import Site
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

POLL_S: Final = 1.0
AT_ONCE: Final = 2
"""Jobs one server runs beside each other, so that a small one need not wait for a large one."""
KEPT: Final = timedelta(days=7)
SWEEP_S: Final = 3600.0

Stepper: TypeAlias = Callable[[Site, Transaction, Job, Person], Awaitable[Step]]


class JobRefused(Exception):  # noqa: N818  # an ending, not an error of ours
    """A job cannot go on; its text is shown to the person who asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of job.

    Attributes:
        right: what its owner must still have, on any account, at every step; on which accounts is the step's
            own question.
        step: does the next piece of work inside the given transaction and says how far it came.
    """

    kind: JobKind
    right: Right
    step: Stepper


KINDS: Final[tuple[Kind, ...]] = (
    Kind(kind=JobKind.EXPORT, right=Right.EXPORT, step=exports.step),
    Kind(kind=JobKind.BULK_REVIEW, right=Right.LEAD, step=bulk.step),
)


async def run(site: Site) -> None:
    """Run waiting jobs until cancelled."""
    await asyncio.gather(*(_serve(site) for _ in range(AT_ONCE)), _sweep(site))


async def run_waiting(site: Site, kinds: tuple[Kind, ...] = KINDS) -> bool:
    """Run the job that waits longest to its end; False when none waits."""
    async with site.store.single() as connection:
        job = await jobs.claim(connection, [each.kind for each in kinds])
    if job is None:
        return False
    kind = next(each for each in kinds if each.kind is job.kind)
    with suppress(JobLost):
        while not job.ended:
            job = await _stepped(site, kind, job)
        log.info("job_ended", job_id=str(job.job_id), kind=job.kind.value, state=job.state.value)
    return True


async def _stepped(site: Site, kind: Kind, job: Job) -> Job:
    """The job after its next step, or ended; when the database is away it stays for whoever comes next."""
    try:
        return await _step(site, kind, job)
    except (JobRefused, ExportRefused) as refused:
        said = str(refused)
    except (JobLost, StorageUnavailable):
        raise
    except Exception:
        log.exception("job_failed", job_id=str(job.job_id), kind=job.kind.value)
        said = "Something is wrong on our side; the server's log says what."
    async with site.store.writing() as connection:
        return await jobs.end(connection, job, JobState.FAILED, error=said)


async def _step(site: Site, kind: Kind, job: Job) -> Job:
    async with site.store.writing() as connection:
        if job.cancel_at is not None:
            return await jobs.end(connection, job, JobState.CANCELLED)
        person = await people.by_id(connection, job.person_id)
        if person is None or person.disabled or not may_somewhere(person, kind.right):
            raise JobRefused(f"You may not {DEEDS[kind.right]} on any account any more.")
        return await jobs.advance(connection, job, await kind.step(site, connection, job, person))


async def _serve(site: Site) -> None:
    while True:
        try:
            worked = await run_waiting(site)
        except StorageUnavailable as error:
            log.warning("review_storage_unavailable", kind=error.kind)
            worked = False
        if not worked:
            await asyncio.sleep(POLL_S)


async def _sweep(site: Site) -> None:
    while True:
        try:
            async with site.store.writing() as connection:
                gone = await jobs.sweep(connection, older_than=KEPT)
            if gone:
                log.info("exports_swept", jobs=gone)
        except StorageUnavailable as error:
            log.warning("review_storage_unavailable", kind=error.kind)
        await asyncio.sleep(SWEEP_S)
