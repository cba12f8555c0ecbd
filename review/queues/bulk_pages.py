"""Bulk review: show the count, take a ruling with a reason, start a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit.filters import Filters
from db.jobs import JobKind
from db.review_store import AsyncConnection
from db.reviews import bulk as bulk_reviews
from db.reviews import queue_items
from db.reviews.rulings import (
    NOTE_CHARS,
    RULING_REASONS,
    RULINGS,
    Remedy,
    ReviewRejected,
    ReviewSource,
    Ruling,
    RulingReason,
)
from db.reviews.submission import Submission
from review.access import Right
from review.http.visit import Refused, Visit
from review.lists.filters import ListQuery, ParseContext, parse_stored_query
from review.lists.jobs_page import add_job
from review.queues import bulk_jobs
from review.queues.review_form import ReviewDraft, parse_review_form, submission_of
from worker.model import DecisionKind

COUNT_MAX_AGE: Final = timedelta(hours=1)


async def show_bulk_form(visit: Visit) -> Response:
    """Show how many decisions match, and the form for all of them."""
    query = urlencode([pair for pair in visit.request.query_params.multi_items() if pair[0] != "cursor"])
    return await _form(visit, query)


async def start_bulk_review(visit: Visit) -> Response:
    """Start the job, if the count is still the one that was shown."""
    query, draft = str(visit.form.get("query", "")), parse_review_form(visit)
    asked_at = _asked_at(visit)
    if asked_at is None:
        problem = "The count is older than an hour. Check the new count and start again."
        return await _form(visit, query, status=409, draft=draft, problem=problem)
    filters = _parse_filters(visit, query, asked_at).filters
    try:
        submission = _parse_submission(visit, draft)
    except ReviewRejected as rejected:
        return await _form(visit, query, status=400, draft=draft, problem=str(rejected))
    async with visit.store.reading() as connection:
        count = await _count(visit, connection, filters)
    if str(count) != str(visit.form.get("count", "")) or not 0 < count <= bulk_reviews.MOST:
        problem = "The count has changed. Check the new count and start again."
        return await _form(visit, query, status=409, draft=draft, problem=problem)
    leads = visit.accounts(Right.LEAD)
    params = bulk_jobs.job_params(submission, query=query, asked_at=asked_at, accounts=leads)
    detail = {"query": query, "ruling": submission.ruling, "decisions": count}
    entry = visit.entry(LoggedAction.BULK_REVIEW, user_id=filters.about(), detail=detail)
    async with visit.store.writing() as connection:
        return await add_job(visit, connection, JobKind.BULK_REVIEW, params, total=count, entry=entry)


async def _form(
    visit: Visit, query: str, *, status: int = 200, draft: ReviewDraft | None = None, problem: str = ""
) -> Response:
    list_query = _parse_filters(visit, query, visit.now)
    async with visit.store.reading() as connection:
        count = await _count(visit, connection, list_query.filters)
    return visit.render(
        "bulk.html",
        status=status,
        list_query=list_query,
        query=query,
        count=count,
        most=bulk_reviews.MOST,
        asked_at=visit.now.isoformat(),
        draft=draft or ReviewDraft(),
        problem=problem,
        rulings=RULINGS,
        reasons=RULING_REASONS,
        decisions=tuple(DecisionKind),
        note_chars=NOTE_CHARS,
    )


def _parse_filters(visit: Visit, query: str, asked_at: datetime) -> ListQuery:
    """The filters, limited to accounts that the person leads.

    Raises:
        Refused: a filter is invalid.
    """
    context = ParseContext(now=asked_at, login=visit.person.login)
    found = parse_stored_query(query, context, visit.accounts(Right.LEAD))
    if found.problems:
        raise Refused(400, "Invalid filters", "\n".join(map(str, found.problems)))
    return found


async def _count(visit: Visit, connection: AsyncConnection, filters: Filters) -> int:
    visible = await queue_items.with_hidden_reviews(connection, filters, visit.person.person_id)
    return await bulk_reviews.count_matching(connection, visible)


def _asked_at(visit: Visit) -> datetime | None:
    """When the count was shown; None when that is too long ago or not a time."""
    try:
        at = datetime.fromisoformat(str(visit.form.get("asked_at", "")))
        return at if visit.now - COUNT_MAX_AGE <= at <= visit.now else None
    except (ValueError, TypeError):
        return None


def _parse_submission(visit: Visit, draft: ReviewDraft) -> Submission:
    submission = submission_of(visit, bulk_jobs.NO_DECISION, draft)
    if submission.reason is None:
        raise ReviewRejected("reason: expected a reason code, which a bulk review requires, got nothing")
    if submission.reason is RulingReason.CORRECT and submission.ruling is Ruling.OVERTURN:
        raise ReviewRejected(
            f"reason: expected what was wrong, as you overturn them, got {RulingReason.CORRECT}"
        )
    if submission.remedy is not Remedy.NONE and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected("remedy: expected a restore only with overturn")
    if submission.remedy not in {Remedy.NONE, Remedy.RESTORE}:
        raise ReviewRejected("remedy: expected a restore or nothing; replies are removed one by one")
    if submission.corrected is not None and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected("corrected decision: expected only with overturn")
    if len(submission.note) > NOTE_CHARS or "\0" in submission.note:
        raise ReviewRejected(f"note: expected at most {NOTE_CHARS} characters without NUL")
    return replace(submission, source=ReviewSource.BULK, note=submission.note.strip())
