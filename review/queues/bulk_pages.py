"""Bulk review: choose a ruling, see its effect on twenty decisions, start the job, undo it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from db import jobs
from db.access_log import LoggedAction
from db.audit import decision_list
from db.audit.filters import Filters
from db.connection import Connection
from db.jobs import JobKind
from db.reviews import bulk as bulk_reviews
from db.reviews import queue_items
from db.reviews.bulk import TriedReview
from db.reviews.rulings import (
    NO_DECISION,
    NOTE_CHARS,
    RULINGS,
    Remedy,
    ReviewRejected,
    ReviewSource,
    Ruling,
    RulingReason,
)
from db.reviews.submission import Submission
from review.access import Right
from review.content_covers import cover_reason
from review.decision.review_form import ReviewFields, parse_review_form, submission_of
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.lists.filter_fields import FIELDS
from review.lists.filter_parsers import ParseContext
from review.lists.filters import ListQuery
from review.lists.jobs_page import add_job, is_undoable, own_job
from review.queues import bulk_jobs
from review.queues.bulk_selection import BadSelection, BulkSelection, asked_at, parse_ticked
from worker.model import DecisionKind


def parse_bulk_submission(visit: Visit, fields: ReviewFields) -> Submission:
    """The review for each decision; its id is a placeholder.

    Raises:
        ReviewRejected: a field is invalid, or is one that only a single review has.
    """
    submission = submission_of(visit, NO_DECISION, fields)
    if submission.reason is None:
        raise ReviewRejected(_("Choose a reason: a bulk review needs one."))
    if submission.reason is RulingReason.CORRECT and submission.ruling is Ruling.OVERTURN:
        raise ReviewRejected(_("Choose the reason that says what was wrong, as you overturn them."))
    if submission.remedy is not Remedy.NONE and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected(_("Choose to restore the exchanges only when you overturn."))
    if submission.remedy not in {Remedy.NONE, Remedy.RESTORE}:
        raise ReviewRejected(
            _("Choose to restore the exchanges or leave them; replies are removed one by one.")
        )
    if submission.corrected is not None and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected(_("Choose the right decision only when you overturn."))
    if len(submission.note) > NOTE_CHARS or "\0" in submission.note:
        text = _("Write a note of at most %(most)s characters.")
        raise ReviewRejected(text % {"most": NOTE_CHARS})
    return replace(submission, source=ReviewSource.BULK, note=submission.note.strip())


COUNT_MAX_AGE_S: Final = 3600.0
TRIED: Final = 20
"""Decisions on which the preview shows the effect."""
TYPED_FROM: Final = 100
"""From this number on, the person types the number of decisions before the job starts."""
CHANGED: Final = mark("The count has changed. Check the new count and start again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPreview:
    """The effect of a ruling on the newest decisions of the selection; ``covers`` as in lists."""

    tried: tuple[TriedReview, ...]
    covers: Mapping[UUID, object]

    @property
    def skipped(self) -> int:
        """Decisions that would be skipped."""
        return sum(each.effect is None for each in self.tried)


async def show_bulk_form(visit: Visit) -> Response:
    """Show how many decisions match, and the form for all of them."""
    parameters = visit.request.query_params
    pairs = [pair for pair in parameters.multi_items() if pair[0] not in ("cursor", "id")]
    selection = _selection(urlencode(pairs), parameters.getlist("id"))
    return await _form(visit, selection)


async def preview_bulk_review(visit: Visit) -> Response:
    """Show what the ruling would do with the newest decisions; nothing is stored."""
    selection, fields = _form_selection(visit), parse_review_form(visit)
    filters = _parse_filters(visit, selection, visit.now).filters
    try:
        submission = parse_bulk_submission(visit, fields)
    except ReviewRejected as rejected:
        return await _form(visit, selection, status=400, fields=fields, problem=str(rejected))
    async with visit.store.writing() as connection:
        visible = await queue_items.with_hidden_reviews(connection, filters, visit.person.person_id)
        tried = await bulk_reviews.try_reviews(connection, visible, submission, limit=TRIED, now=visit.now)
        covers = await _covers(visit, connection, tried)
        detail = {"query": selection.query, "rows": len(tried), "bulk": True}
        await visit.log(LoggedAction.LIST, user_id=filters.about(), detail=detail, connection=connection)
    preview = BulkPreview(tried=tried, covers=covers)
    return await _form(visit, selection, fields=fields, preview=preview)


async def start_bulk_review(visit: Visit) -> Response:
    """Start the job, if the count has not changed since the page was shown."""
    selection, fields = _form_selection(visit), parse_review_form(visit)
    at = asked_at(visit.field("asked_at"), visit.now, max_age_s=COUNT_MAX_AGE_S)
    if at is None:
        problem = _("The count is older than an hour. Check the new count and start again.")
        return await _form(visit, selection, status=409, fields=fields, problem=problem)
    filters = _parse_filters(visit, selection, at).filters
    try:
        submission = parse_bulk_submission(visit, fields)
    except ReviewRejected as rejected:
        return await _form(visit, selection, status=400, fields=fields, problem=str(rejected))
    async with visit.store.reading() as connection:
        count = await _count(visit, connection, filters)
    if str(count) != visit.field("count") or not 0 < count <= bulk_reviews.MOST:
        return await _form(visit, selection, status=409, fields=fields, problem=_(CHANGED))
    if count >= TYPED_FROM and "".join(filter(str.isdigit, visit.field("typed"))) != str(count):
        problem = _("Type the number of decisions, %(count)s, to start.") % {"count": count}
        return await _form(visit, selection, status=400, fields=fields, problem=problem)
    leads = visit.accounts(Right.LEAD)
    params = bulk_jobs.job_params(submission, selection, asked_at=at, accounts=leads)
    detail = {"query": selection.query, "ruling": submission.ruling, "decisions": count}
    entry = visit.entry(LoggedAction.BULK_REVIEW, user_id=filters.about(), detail=detail)
    async with visit.store.writing() as connection:
        return await add_job(visit, connection, JobKind.BULK_REVIEW, params, total=count, entry=entry)


async def undo_bulk_review(visit: Visit) -> Response:
    """Start a job that withdraws the reviews of a bulk review."""
    job = await own_job(visit)
    async with visit.store.writing() as connection:
        earlier = await jobs.undo_of(connection, job)
        if earlier is not None or not is_undoable(job, visit.now):
            raise Refused(
                409,
                "It cannot be undone",
                "Only a bulk review that has ended can be undone, once, within seven days.",
            )
        stored = bulk_jobs.progress_of(job.position).reviewed
        params = {"of": str(job.job_id), "query": job.params["query"], "ruling": job.params["ruling"]}
        entry = visit.entry(LoggedAction.UNDO, detail={"bulk": str(job.job_id), "reviews": stored})
        return await add_job(visit, connection, JobKind.BULK_UNDO, params, total=stored, entry=entry)


async def _form(
    visit: Visit,
    selection: BulkSelection,
    *,
    status: int = 200,
    fields: ReviewFields | None = None,
    problem: str = "",
    preview: BulkPreview | None = None,
) -> Response:
    list_query = _parse_filters(visit, selection, visit.now)
    async with visit.store.reading() as connection:
        count = await _count(visit, connection, list_query.filters)
    return visit.render(
        "bulk.html",
        status=status,
        list_query=list_query,
        selection=selection,
        count=count,
        most=bulk_reviews.MOST,
        typed_from=TYPED_FROM,
        asked_at=visit.now.isoformat(),
        review_fields=fields or ReviewFields(),
        problem=problem,
        preview=preview,
        fields=FIELDS,
        rulings=RULINGS,
        reasons=tuple(RulingReason),
        decisions=tuple(DecisionKind),
        note_chars=NOTE_CHARS,
    )


def _form_selection(visit: Visit) -> BulkSelection:
    return _selection(visit.field("query"), [str(each) for each in visit.form.getlist("id")])


def _selection(query: str, ids: Sequence[str]) -> BulkSelection:
    try:
        return BulkSelection(query=query, ticked=parse_ticked(ids))
    except BadSelection as bad:
        raise Refused(400, "Invalid selection", str(bad)) from bad


def _parse_filters(visit: Visit, selection: BulkSelection, at: datetime) -> ListQuery:
    """The filters, limited to accounts that the person leads.

    Raises:
        Refused: a filter is invalid.
    """
    context = ParseContext(now=at, login=visit.person.login)
    found = selection.filters(context, visit.accounts(Right.LEAD))
    if found.problems:
        raise Refused(400, "Invalid filters", "\n".join(map(str, found.problems)))
    return found


async def _count(visit: Visit, connection: Connection, filters: Filters) -> int:
    visible = await queue_items.with_hidden_reviews(connection, filters, visit.person.person_id)
    return await bulk_reviews.count_matching(connection, visible)


async def _covers(
    visit: Visit, connection: Connection, tried: tuple[TriedReview, ...]
) -> Mapping[UUID, object]:
    """What hides the texts of these decisions from the person, by id."""
    if not (covered := visit.person.covered):
        return {}
    rows = tuple(each.row for each in tried)
    scores = await decision_list.high_scores(connection, rows)
    return {
        row["id"]: cover_reason(covered, {**row, "high_score_categories": scores.get(row["id"])})
        for row in rows
    }
