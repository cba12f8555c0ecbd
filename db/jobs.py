"""Background jobs: claimed by one server, done in steps, taken over when that server dies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.review_tables import job_parts, jobs
from db.rows import Row, all_rows, changed_rows, first_row, from_row, is_known

STALE: Final = timedelta(seconds=20)
"""A server without a step for this long counts as dead; a step takes a second or two."""


class JobKind(StrEnum):
    """What a job does; stored, never renamed."""

    EXPORT = "export"
    BULK_REVIEW = "bulk_review"
    BULK_UNDO = "bulk_undo"


class JobState(StrEnum):
    """The state of a job; stored, never renamed."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED: Final = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})


class JobLost(Exception):
    """Another server has taken over the job, or the job has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job.

    Attributes:
        params: parameters of its kind, as JSON.
        done: decisions processed so far.
        total: decisions counted when it was requested; None when they were not counted.
        position: where the next step starts; None at the start.
        error: the message for the person when it failed.
        cancel_at: when its owner cancelled it.
    """

    job_id: UUID
    person_id: UUID
    kind: JobKind
    params: Mapping[str, Any]
    state: JobState
    done: int
    total: int | None
    position: str | None
    error: str | None
    created_at: datetime
    cancel_at: datetime | None
    finished_at: datetime | None

    @property
    def ended(self) -> bool:
        """True when the job is done, failed or cancelled."""
        return self.state in ENDED


KNOWN: Final = sa.select(jobs).where(is_known(jobs.c.kind, JobKind), is_known(jobs.c.state, JobState))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStep:
    """The result of one step, stored in the transaction of the step's work.

    Attributes:
        done: decisions processed so far, including earlier steps.
        position: where the next step starts; it must differ from the previous one.
    """

    done: int
    position: str
    finished: bool = False


async def add_job(
    connection: Connection,
    job_id: UUID,
    *,
    person_id: UUID,
    kind: JobKind,
    params: Mapping[str, Any],
    total: int | None = None,
) -> None:
    """Add a queued job."""
    values = {"id": job_id, "person_id": person_id, "kind": kind, "params": dict(params), "total": total}
    await connection.execute(sa.insert(jobs).values(values))


async def claim_job(connection: Connection, kinds: Collection[JobKind]) -> Job | None:
    """Claim the oldest job that is queued or whose server has died; None when there is none."""
    free = sa.or_(
        jobs.c.state == JobState.QUEUED.value,
        sa.and_(jobs.c.state == JobState.RUNNING.value, jobs.c.alive_at < sa.func.now() - STALE),
    )
    waiting = sa.text("state = ANY (ARRAY['queued'::text, 'running'::text])")  # as in ix_jobs_waiting
    chosen = (
        sa.select(jobs.c.id)
        .where(waiting, free, jobs.c.kind.in_([kind.value for kind in kinds]))
        .order_by(jobs.c.created_at)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    statement = (
        sa.update(jobs)
        .where(jobs.c.id == chosen)
        .values(state=JobState.RUNNING.value, alive_at=sa.func.now())
        .returning(jobs)
    )
    row = await first_row(connection, statement)
    return _job(row) if row else None


async def store_step(connection: Connection, job: Job, step: JobStep) -> Job:
    """Store a step in the transaction of its work; the job as it is now.

    Raises:
        JobLost: another server stored this step, or the job has ended; the caller must not commit.
    """
    values: dict[str, Any] = {"done": step.done, "position": step.position, "alive_at": sa.func.now()}
    if step.finished:
        values |= {"state": JobState.DONE.value, "finished_at": sa.func.now()}
    return await _update_running(connection, job, values)


async def end_job(connection: Connection, job: Job, state: JobState, *, error: str | None = None) -> Job:
    """End a job that was running; the job as it is now.

    Raises:
        JobLost: it has already ended, or another server has continued it.
    """
    values = {"state": state.value, "error": error, "finished_at": sa.func.now()}
    return await _update_running(connection, job, values)


async def cancel_job(connection: Connection, job_id: UUID) -> None:
    """Cancel a job: a queued job at once, a running job after its step."""
    waiting = jobs.c.state == JobState.QUEUED.value
    now = sa.func.now()
    statement = (
        sa.update(jobs)
        .where(jobs.c.id == job_id, jobs.c.state.in_([JobState.QUEUED.value, JobState.RUNNING.value]))
        .values(
            state=sa.case((waiting, JobState.CANCELLED.value), else_=jobs.c.state),
            finished_at=sa.case((waiting, now), else_=None),
            cancel_at=now,
        )
    )
    await connection.execute(statement)


async def get_job(connection: Connection, job_id: UUID) -> Job | None:
    """A job, or None."""
    row = await first_row(connection, KNOWN.where(jobs.c.id == job_id))
    return _job(row) if row else None


async def list_jobs(connection: Connection, person_id: UUID, *, limit: int = 50) -> tuple[Job, ...]:
    """A person's jobs, newest first."""
    query = KNOWN.where(jobs.c.person_id == person_id).order_by(jobs.c.created_at.desc())
    return tuple(_job(row) for row in await all_rows(connection, query.limit(limit)))


async def undo_of(connection: Connection, job: Job) -> UUID | None:
    """The newest job of the same person that undoes this one, or None."""
    query = sa.select(jobs.c.id).where(
        jobs.c.person_id == job.person_id,
        jobs.c.kind == JobKind.BULK_UNDO.value,
        jobs.c.params["of"].astext == str(job.job_id),
    )
    newest = query.order_by(jobs.c.created_at.desc()).limit(1)
    found: UUID | None = (await connection.execute(newest)).scalar()
    return found


async def add_part(connection: Connection, job_id: UUID, number: int, data: bytes) -> None:
    """Store one part of a job's output; parts are numbered from 1."""
    await connection.execute(sa.insert(job_parts).values(job_id=job_id, number=number, data=data))


async def get_part(connection: Connection, job_id: UUID, number: int) -> bytes | None:
    """One part of a job's output; None after the last."""
    query = sa.select(job_parts.c.data).where(job_parts.c.job_id == job_id, job_parts.c.number == number)
    data = (await connection.execute(query)).scalar()
    return None if data is None else bytes(data)


async def stored_size(connection: Connection, job_id: UUID) -> int:
    """Stored bytes of all parts."""
    query = sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(job_parts.c.data)), 0))
    return int((await connection.execute(query.where(job_parts.c.job_id == job_id))).scalar_one())


async def delete_expired_jobs(connection: Connection, *, older_than: timedelta) -> int:
    """Delete exports that ended more than ``older_than`` ago, with their parts; how many."""
    statement = sa.delete(jobs).where(
        jobs.c.kind == JobKind.EXPORT.value, jobs.c.finished_at < sa.func.now() - older_than
    )
    return await changed_rows(connection, statement)


async def _update_running(connection: Connection, job: Job, values: Row) -> Job:
    """Update a running job whose position has not changed since it was read."""
    statement = sa.update(jobs).where(
        jobs.c.id == job.job_id,
        jobs.c.state == JobState.RUNNING.value,
        jobs.c.position.is_not_distinct_from(job.position),
    )
    row = await first_row(connection, statement.values(values).returning(jobs))
    if row is None:
        raise JobLost
    return _job(row)


def _job(row: Row) -> Job:
    return from_row(Job, row | {"job_id": row["id"]})
