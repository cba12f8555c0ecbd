"""Bulk review: the count first, then a reason, then a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db import access_log, audit, bulk_reviews, jobs
from db.access_log import Action
from db.audit import Filters
from db.identifiers import identifier
from db.jobs import JobKind, Transaction
from db.reviewing import Submission
from db.reviews import CAUSES, GIVEN, NOTE_CHARS, Cause, Remedy, ReviewRejected, Ruling, Source
from review.access import Right
from review.lists.filters import Asked
from review.reviewing import bulk
from review.reviewing.drafts import Draft, draft_of, submission
from review.web import Refused, Visit
from worker.model import Verdict

OLD: Final = timedelta(hours=1)
"""A count is good for so long."""


async def form(visit: Visit) -> Response:
    """How many decisions match, and what to say of them all."""
    query = urlencode([pair for pair in visit.request.query_params.multi_items() if pair[0] != "cursor"])
    return await _form(visit, query)


async def start(visit: Visit) -> Response:
    """Ask for the job, when the count is still what was shown."""
    query, draft = str(visit.form.get("query", "")), draft_of(visit)
    asked_at = _asked_at(visit)
    if asked_at is None:
        problem = "The count is older than an hour. This is the count of now; look at it and start again."
        return await _form(visit, query, status=409, draft=draft, problem=problem)
    _, filters = _wanted(visit, query, asked_at)
    try:
        given = _like(visit, draft)
    except ReviewRejected as rejected:
        return await _form(visit, query, status=400, draft=draft, problem=str(rejected))
    async with visit.store.reading() as connection:
        count = await _counted(visit, connection, filters)
    if str(count) != str(visit.form.get("count", "")) or not 0 < count <= bulk_reviews.MOST:
        problem = "Meanwhile the count has changed. Look at it and start again."
        return await _form(visit, query, status=409, draft=draft, problem=problem)
    params = bulk.ordered(given, query=query, asked_at=asked_at, accounts=visit.accounts(Right.LEAD))
    job_id = identifier(visit.now)
    async with visit.store.writing() as connection:
        await jobs.add(
            connection,
            job_id,
            person_id=visit.person.person_id,
            kind=JobKind.BULK_REVIEW,
            params=params,
            total=count,
        )
        detail = {"job": str(job_id), "query": query, "verdict": given.ruling, "decisions": count}
        entry = visit.entry(Action.BULK_REVIEW, user_id=filters.about(), detail=detail)
        await access_log.add(connection, entry)
    return visit.redirect("job", job_id=job_id)


async def _form(
    visit: Visit, query: str, *, status: int = 200, draft: Draft | None = None, problem: str = ""
) -> Response:
    asked, filters = _wanted(visit, query, visit.now)
    async with visit.store.reading() as connection:
        count = await _counted(visit, connection, filters)
    return visit.render(
        "bulk.html",
        status=status,
        asked=asked,
        query=query,
        count=count,
        most=bulk_reviews.MOST,
        asked_at=visit.now.isoformat(),
        draft=draft or Draft(),
        problem=problem,
        rulings=GIVEN,
        causes=CAUSES,
        verdicts=tuple(Verdict),
        note_chars=NOTE_CHARS,
    )


def _wanted(visit: Visit, query: str, asked_at: datetime) -> tuple[Asked, Filters]:
    """The filters, as far as the person leads.

    Raises:
        Refused: one of them cannot be used.
    """
    accounts, login = visit.accounts(Right.LEAD), visit.person.login
    found, filters = bulk.wanted(query, asked_at=asked_at, login=login, accounts=accounts)
    if found.problems:
        said = [f"{each.title}: expected {each.expected}; got {each.got}" for each in found.problems]
        raise Refused(400, "These filters cannot be used", "\n".join(said))
    return found, filters


async def _counted(visit: Visit, connection: Transaction, filters: Filters) -> int:
    unspoilt = await audit.unspoilt(connection, filters, visit.person.person_id)
    return await bulk_reviews.counted(connection, unspoilt)


def _asked_at(visit: Visit) -> datetime | None:
    """When the count was shown; None when that is too long ago, or no time at all."""
    try:
        at = datetime.fromisoformat(str(visit.form.get("asked_at", "")))
        return at if visit.now - OLD <= at <= visit.now else None
    except (ValueError, TypeError):
        return None


def _like(visit: Visit, draft: Draft) -> Submission:
    given = submission(visit, bulk.NOBODY, draft)
    if given.cause is None:
        raise ReviewRejected("reason: expected a reason code, as a bulk review needs one, got nothing")
    if given.cause is Cause.CORRECT and given.ruling is Ruling.OVERTURN:
        raise ReviewRejected(f"reason: expected what was wrong, as you overturn them, got {Cause.CORRECT}")
    if given.remedy is not Remedy.NONE and given.ruling is not Ruling.OVERTURN:
        raise ReviewRejected("remedy: expected a restore only with overturn")
    if given.remedy not in {Remedy.NONE, Remedy.RESTORE}:
        raise ReviewRejected("remedy: expected a restore or nothing; replies are removed one by one")
    if given.corrected is not None and given.ruling is not Ruling.OVERTURN:
        raise ReviewRejected("corrected decision: expected only with overturn")
    if len(given.note) > NOTE_CHARS or "\0" in given.note:
        raise ReviewRejected(f"note: expected at most {NOTE_CHARS} characters without NUL")
    return replace(given, source=Source.BULK, note=given.note.strip())
