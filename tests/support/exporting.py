"""Exports for tests of a served site: asked for in the database, written by the server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from db import jobs
from db.connection import Connection
from db.identifiers import uuid_at
from db.jobs import Job, JobKind, JobState
from db.people import sessions
from db.people.records import Person
from review.http.visit import SESSION_COOKIE
from review.lists import exports
from review.lists.export_layout import Form, Layout
from tests.support.reviewing import stored
from tests.support.running import eventually


def cookie_of(url: str, person: Person) -> str:
    """The cookie header of a new session."""
    token, now = f"session of {person.person_id.hex}".replace(" ", "-"), datetime.now(UTC)
    lasts = timedelta(hours=1)
    stored(
        url,
        lambda each: sessions.start_session(each, token, person.person_id, now=now, lasts=lasts, address=""),
    )
    return f"{SESSION_COOKIE}={token}"


def finished_export(url: str, person: Person, form: Form, **filters: str) -> UUID:
    """An export that a server on this database has written."""
    job_id = uuid_at(datetime.now(UTC))
    params = exports.job_params(urlencode({"since": "all"} | filters), Layout(form=form), None)

    async def ask(connection: Connection) -> None:
        await jobs.add_job(connection, job_id, person_id=person.person_id, kind=JobKind.EXPORT, params=params)

    async def look(connection: Connection) -> Job | None:
        return await jobs.get_job(connection, job_id)

    def done() -> bool:
        job = stored(url, look)
        assert job is not None
        assert job.state is not JobState.FAILED, job.error
        return job.state is JobState.DONE

    stored(url, ask)
    eventually(done, "the export to be written")
    return job_id
