"""Long work that people asked for: claimed by one server, done in steps, taken over when that server dies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.review_tables import job_parts, jobs

Transaction: TypeAlias = AsyncConnection
"""What a step of a job works in."""
STALE: Final = timedelta(seconds=60)
"""Without a step for so long, whoever ran a job is taken for dead; a step takes a second or two."""


class JobKind(StrEnum):
    """What a job does; stored, never renamed."""

    EXPORT = "export"
    BULK_REVIEW = "bulk_review"


class JobState(StrEnum):
    """How far a job is; stored, never renamed."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED: Final = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})


class JobLost(Exception):  # noqa: N818  # not an error: somebody else goes on with it
    """Another server has taken the job over, or it has ended meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job.

    Attributes:
        params: what its kind needs, as JSON.
        done: how many things are dealt with.
        total: how many there were when it was asked for; None when nobody counted.
        position: from where its kind goes on; None at the start.
        error: what to tell the person when it failed.
        cancel_at: when its owner asked for an end.
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
        """True when nothing more will happen."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step of a job came to; stored in the transaction of the step's own work.

    Attributes:
        done: how many things are dealt with now, earlier steps included.
        position: from where the next step goes on; it must differ from the one before.
        finished: True when there is no next step.
    """

    done: int
    position: str
    finished: bool = False


async def add(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    person_id: UUID,
    kind: JobKind,
    params: Mapping[str, Any],
    total: int | None = None,
) -> None:
    """Put a job into the queue."""
    values = {
        "id": job_id,
        "person_id": person_id,
        "kind": kind.value,
        "params": dict(params),
        "total": total,
    }
    await connection.execute(sa.insert(jobs).values(values))


async def claim(connection: AsyncConnection, kinds: Collection[JobKind]) -> Job | None:
    """Take the job that waits longest, or one whose server has died; None when nothing waits."""
    free = sa.or_(
        jobs.c.state == JobState.QUEUED.value,
        sa.and_(jobs.c.state == JobState.RUNNING.value, jobs.c.alive_at < sa.func.now() - STALE),
    )
    waiting = sa.text("state = ANY (ARRAY['queued'::text, 'running'::text])")  # as ix_jobs_waiting says it
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
    row = (await connection.execute(statement)).mappings().first()
    return _job(row) if row else None


async def advance(connection: AsyncConnection, job: Job, step: Step) -> Job:
    """Store a step, in the transaction of its work; the job as it is now.

    Raises:
        JobLost: somebody else stored this step, or the job has ended; nothing of it may be committed.
    """
    values: dict[str, Any] = {"done": step.done, "position": step.position, "alive_at": sa.func.now()}
    if step.finished:
        values |= {"state": JobState.DONE.value, "finished_at": sa.func.now()}
    statement = sa.update(jobs).where(*_as_it_was(job)).values(values).returning(jobs)
    return _job(await _stored(connection, statement))


def _as_it_was(job: Job) -> tuple[sa.ColumnElement[bool], ...]:
    """True of a job that runs and that nobody has moved on since it was read."""
    return (
        jobs.c.id == job.job_id,
        jobs.c.state == JobState.RUNNING.value,
        jobs.c.position.is_not_distinct_from(job.position),
    )


async def end(connection: AsyncConnection, job: Job, state: JobState, *, error: str | None = None) -> Job:
    """End a job that was running; the job as it is now.

    Raises:
        JobLost: it has ended already, or another server has gone on with it since.
    """
    statement = (
        sa.update(jobs)
        .where(*_as_it_was(job))
        .values(state=state.value, error=error, finished_at=sa.func.now())
        .returning(jobs)
    )
    return _job(await _stored(connection, statement))


async def cancel(connection: AsyncConnection, job_id: UUID) -> None:
    """Ask for an end: at once when nobody has begun, else after the running step."""
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


async def one(connection: AsyncConnection, job_id: UUID) -> Job | None:
    """A job, or None."""
    row = (await connection.execute(sa.select(jobs).where(jobs.c.id == job_id))).mappings().first()
    return _job(row) if row else None


async def of_person(connection: AsyncConnection, person_id: UUID, *, limit: int = 50) -> tuple[Job, ...]:
    """Somebody's jobs, newest first."""
    query = (
        sa.select(jobs).where(jobs.c.person_id == person_id).order_by(jobs.c.created_at.desc()).limit(limit)
    )
    return tuple(_job(row) for row in (await connection.execute(query)).mappings())


async def add_part(connection: AsyncConnection, job_id: UUID, number: int, data: bytes) -> None:
    """Keep one piece of what a job wrote; pieces are numbered from 1."""
    await connection.execute(sa.insert(job_parts).values(job_id=job_id, number=number, data=data))


async def part(connection: AsyncConnection, job_id: UUID, number: int) -> bytes | None:
    """One piece of what a job wrote; None after the last."""
    query = sa.select(job_parts.c.data).where(job_parts.c.job_id == job_id, job_parts.c.number == number)
    data = (await connection.execute(query)).scalar_one_or_none()
    return None if data is None else bytes(data)


async def size(connection: AsyncConnection, job_id: UUID) -> int:
    """Bytes of all pieces as they are stored."""
    query = sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(job_parts.c.data)), 0))
    return int((await connection.execute(query.where(job_parts.c.job_id == job_id))).scalar_one())


async def sweep(connection: AsyncConnection, *, older_than: timedelta) -> int:
    """Delete exports that ended so long ago, with their pieces; how many there were."""
    statement = sa.delete(jobs).where(
        jobs.c.kind == JobKind.EXPORT.value, jobs.c.finished_at < sa.func.now() - older_than
    )
    return int((await connection.execute(statement)).rowcount)


async def _stored(connection: AsyncConnection, statement: sa.Executable) -> sa.RowMapping:
    row = (await connection.execute(statement)).mappings().first()
    if row is None:
        raise JobLost
    return row


def _job(row: sa.RowMapping) -> Job:
    names = ("person_id", "params", "done", "total", "position", "error", "created_at", "cancel_at")
    return Job(
        job_id=row["id"],
        kind=JobKind(row["kind"]),
        state=JobState(row["state"]),
        finished_at=row["finished_at"],
        **{name: row[name] for name in names},
    )
