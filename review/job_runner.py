"""Runs background jobs: one transaction per step, so that a crash loses one step only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

import structlog

from db import jobs
from db.connection import Connection
from db.jobs import Job, JobKind, JobLost, JobState, JobStep
from db.people import records
from db.people.records import Person
from review.access import ACTIONS, Right, may_somewhere
from review.http.visit import Site
from review.lists import exports
from review.lists.export_file import ExportRefused
from review.queues import bulk_jobs
from worker.errors import StorageUnavailable, is_outage

log = structlog.get_logger(__name__)

KEEP_FOR: Final = timedelta(days=7)
STEP_TRIES: Final = 2
TOO_SLOW: Final = "The database took too long. Choose fewer decisions, such as those of a shorter time."

Stepper: TypeAlias = Callable[[Site, Connection, Job, Person], Awaitable[JobStep]]


class JobRefused(Exception):
    """A job cannot continue; its text is shown to the person who started it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRunnerKind:
    """One kind of job.

    Attributes:
        right: the right that its owner must have on any account at every step; the step checks the accounts.
        step: does the next part of the work in the given transaction and returns the progress.
    """

    kind: JobKind
    right: Right
    step: Stepper


KINDS: Final[tuple[JobRunnerKind, ...]] = (
    JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=exports.write_step),
    JobRunnerKind(kind=JobKind.BULK_REVIEW, right=Right.LEAD, step=bulk_jobs.review_step),
    JobRunnerKind(kind=JobKind.BULK_UNDO, right=Right.LEAD, step=bulk_jobs.undo_step),
)


async def run_waiting(site: Site, kinds: tuple[JobRunnerKind, ...] = KINDS) -> bool:
    """Run the job that has waited longest until it ends; False when no job waits."""
    async with site.store.autocommit() as connection:
        job = await jobs.claim_job(connection, [each.kind for each in kinds])
    if job is None:
        return False
    kind = next(each for each in kinds if each.kind is job.kind)
    with suppress(JobLost):
        while not job.ended:
            job = await _advance(site, kind, job)
        log.info("job_ended", job_id=str(job.job_id), kind=job.kind.value, state=job.state.value)
    return True


async def _advance(site: Site, kind: JobRunnerKind, job: Job) -> Job:
    """The job after its next step, or ended; in a database outage the job waits for the next runner."""
    try:
        return await _in_time(site, kind, job)
    except (JobRefused, ExportRefused) as refused:
        message = str(refused)
    except (JobLost, StorageUnavailable):
        raise
    except Exception:
        log.exception("job_failed", job_id=str(job.job_id), kind=job.kind.value)
        message = "Internal error: the server's log has the details."
    async with site.store.writing() as connection:
        return await jobs.end_job(connection, job, JobState.FAILED, error=message)


async def _in_time(site: Site, kind: JobRunnerKind, job: Job) -> Job:
    """The job after its next step; a step that may always take too long must not hold up other jobs."""
    left = STEP_TRIES
    while True:
        left -= 1
        try:
            return await _step(site, kind, job)
        except StorageUnavailable as error:
            if is_outage(error):
                raise
            if not left:
                raise JobRefused(TOO_SLOW) from error


async def _step(site: Site, kind: JobRunnerKind, job: Job) -> Job:
    async with site.store.writing() as connection:
        if job.cancel_at is not None:
            return await jobs.end_job(connection, job, JobState.CANCELLED)
        person = await records.get_person(connection, job.person_id)
        if person is None or person.disabled or not may_somewhere(person, kind.right):
            raise JobRefused(f"You may not {ACTIONS[kind.right]} on any account any more.")
        return await jobs.store_step(connection, job, await kind.step(site, connection, job, person))


async def run_jobs(site: Site) -> None:
    """Run waiting jobs, one after the other, until none waits."""
    while await run_waiting(site):
        pass


async def sweep_jobs(site: Site) -> None:
    """Delete expired jobs."""
    async with site.store.writing() as connection:
        deleted = await jobs.delete_expired_jobs(connection, older_than=KEEP_FOR)
    if deleted:
        log.info("exports_swept", jobs=deleted)
