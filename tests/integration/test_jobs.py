"""Jobs of the review pages: steps that survive crashes, ends that people ask for, rights that went away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import psycopg
import pytest
from uuid_utils.compat import uuid7

from db import jobs
from db.connection import Connection
from db.jobs import (
    Job,
    JobKind,
    JobState,
    JobStep,
)
from db.people.records import Person, Role
from db.review_store import Store
from review.access import Right
from review.http.templating import Templates
from review.http.visit import Site
from review.job_runner import TOO_SLOW, JobRefused, JobRunnerKind, run_waiting
from tests.support.reviewing import add_person, settings_at
from worker.errors import StorageUnavailable


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[Site]:
    """What handlers and jobs share, without a server."""
    async with Store(database_url) as store:
        yield Site(settings=settings_at(database_url), store=store, templates=Templates())


async def counting(_site: Site, connection: Connection, job: Job, _person: Person) -> JobStep:
    """Write one part a step, five in all."""
    await jobs.add_part(connection, job.job_id, job.done + 1, str(job.done).encode())
    return JobStep(done=job.done + 1, position=str(job.done + 1), finished=job.done == 4)


COUNTING = JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=counting)


async def asked(site: Site, database_url: str, role: Role = Role.LEAD) -> UUID:
    """A job that waits, of a person of its own."""
    person, job_id = await asyncio.to_thread(add_person, database_url, role), uuid7()
    async with site.store.writing() as connection:
        await jobs.add_job(
            connection, job_id, person_id=person.person_id, kind=JobKind.EXPORT, params={"format": "csv"}
        )
    return job_id


async def stored(site: Site, job_id: UUID) -> Job:
    """The job as it is."""
    async with site.store.reading() as connection:
        job = await jobs.get_job(connection, job_id)
    assert job is not None
    return job


async def parts(site: Site, job_id: UUID) -> list[bytes]:
    """What a job wrote."""
    found: list[bytes] = []
    async with site.store.reading() as connection:
        while (data := await jobs.get_part(connection, job_id, len(found) + 1)) is not None:
            found.append(data)
    return found


async def test_a_job_runs_to_its_end(site: Site, database_url: str) -> None:
    """Step by step; then nothing waits any more."""
    job_id = await asked(site, database_url)

    assert await run_waiting(site, (COUNTING,))
    assert not await run_waiting(site, (COUNTING,))

    job = await stored(site, job_id)
    assert (job.state, job.done, job.finished_at is not None) == (JobState.DONE, 5, True)
    assert await parts(site, job_id) == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_job_goes_on_where_a_dead_server_left_it(site: Site, database_url: str) -> None:
    """Every step is done once; the job of a living server is not taken over."""
    job_id = await asked(site, database_url)

    async def dying(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
        step = await counting(site, connection, job, person)
        if job.done == 2:
            raise StorageUnavailable("gone", kind="Test")
        return step

    with pytest.raises(StorageUnavailable):
        await run_waiting(site, (JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=dying),))
    assert not await run_waiting(site, (COUNTING,))

    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE jobs SET alive_at = now() - interval '5 min' WHERE id = %s", (job_id,))
    assert await run_waiting(site, (COUNTING,))

    assert (await stored(site, job_id)).state is JobState.DONE
    assert await parts(site, job_id) == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_revived_server_does_not_repeat_its_heir_s_steps(site: Site, database_url: str) -> None:
    """Two servers hold the same job; the step of the slower one is not stored."""
    job_id = await asked(site, database_url)

    async def overtaken(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
        if job.done == 1:
            async with site.store.writing() as other:
                await jobs.store_step(other, job, await counting(site, other, job, person))
            await jobs.add_part(connection, job.job_id, 99, b"twice")
            return JobStep(done=2, position="2")
        return await counting(site, connection, job, person)

    assert await run_waiting(site, (JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=overtaken),))

    assert (await stored(site, job_id)).done == 2
    assert await parts(site, job_id) == [b"0", b"1"]


async def test_an_end_can_be_asked_for(site: Site, database_url: str) -> None:
    """At once while it waits, after its step while it runs."""
    waiting, running = await asked(site, database_url), await asked(site, database_url)

    async def cancelled(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
        if job.done == 1:
            async with site.store.writing() as other:
                await jobs.cancel_job(other, job.job_id)
        return await counting(site, connection, job, person)

    async with site.store.writing() as connection:
        await jobs.cancel_job(connection, waiting)
    assert await run_waiting(site, (JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=cancelled),))

    assert [(await stored(site, each)).state for each in (waiting, running)] == [JobState.CANCELLED] * 2
    assert (await stored(site, running)).done == 2


async def test_a_job_ends_with_its_owner_s_right(site: Site, database_url: str) -> None:
    """A viewer may not export, also when they were a lead on asking."""
    job_id = await asked(site, database_url, Role.VIEWER)

    assert await run_waiting(site, (COUNTING,))

    job = await stored(site, job_id)
    assert (job.state, job.error) == (
        JobState.FAILED,
        "You may not export decisions on any account any more.",
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (JobRefused("The queue is closed."), "The queue is closed."),
        (StorageUnavailable("57014", may_be_input=True), TOO_SLOW),
        (ValueError("secret"), "Internal error: the server's log has the details."),
    ],
)
async def test_a_job_that_cannot_go_on_says_so(
    site: Site, database_url: str, error: Exception, said: str
) -> None:
    """In words for its owner; a bug's own words stay in the log."""
    job_id = await asked(site, database_url)

    async def failing(_site: Site, _connection: Connection, _job: Job, _person: Person) -> JobStep:
        raise error

    assert await run_waiting(site, (JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=failing),))

    job = await stored(site, job_id)
    assert (job.state, job.error) == (JobState.FAILED, said)


async def test_old_exports_are_swept_with_their_parts(site: Site, database_url: str) -> None:
    """After a week; younger ones stay."""
    old, young = await asked(site, database_url), await asked(site, database_url)
    while await run_waiting(site, (COUNTING,)):
        pass
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE jobs SET finished_at = now() - interval '8 days' WHERE id = %s", (old,))
    async with site.store.writing() as transaction:
        assert await jobs.delete_expired_jobs(transaction, older_than=jobs.STALE * 60 * 24 * 7) == 1

    assert await parts(site, old) == []
    assert len(await parts(site, young)) == 5
