"""Bulk review jobs and their undo: parameters, and the step that a job repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.connection import Connection
from db.jobs import Job, JobStep
from db.people.records import Person
from db.reviews import bulk, queue_items
from db.reviews.rulings import (
    NO_DECISION,
    Remedy,
    Reviewer,
    ReviewSource,
    Ruling,
    RulingReason,
    reviews_of_job,
)
from db.reviews.submission import Submission
from db.reviews.withdrawal import withdraw_unchanged
from review.access import Right, accounts_with
from review.http.visit import Site
from review.lists.filter_parsers import ParseContext
from review.queues.bulk_selection import BulkSelection, stored_selection
from worker.model import DecisionKind

UNDO_BATCH: Final = 100
"""Reviews withdrawn per step and transaction: about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkProgress:
    """The progress of a bulk review."""

    reviewed: int = 0
    skipped: int = 0
    unrestored: int = 0
    cursor: str = ""

    def __str__(self) -> str:
        return f"{self.reviewed}:{self.skipped}:{self.unrestored}:{self.cursor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoProgress:
    """The progress of the undo of a bulk review; ``last`` is the last decision processed."""

    undone: int = 0
    kept: int = 0
    last: str = ""

    def __str__(self) -> str:
        return f"{self.undone}:{self.kept}:{self.last}"


def job_params(
    submission: Submission, selection: BulkSelection, *, asked_at: datetime, accounts: Sequence[str] | None
) -> dict[str, Any]:
    """The parameters of a job, as JSON."""
    return {
        **selection.as_params(),
        "asked_at": asked_at.isoformat(),
        "accounts": None if accounts is None else list(accounts),
    } | {name: getattr(submission, name) for name in ("ruling", "reason", "note", "corrected", "remedy")}


def progress_of(position: str | None) -> BulkProgress:
    """The progress of a job, by its position."""
    *counts, cursor = (position or str(BulkProgress())).split(":", 3)
    reviewed, skipped, unrestored = map(int, counts)
    return BulkProgress(reviewed=reviewed, skipped=skipped, unrestored=unrestored, cursor=cursor)


def undo_progress_of(position: str | None) -> UndoProgress:
    """The progress of an undo, by its position."""
    undone, kept, last = (position or str(UndoProgress())).split(":", 2)
    return UndoProgress(undone=int(undone), kept=int(kept), last=last)


async def review_step(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
    """Review the next batch, in accounts that the job's owner still leads."""
    params, so_far = job.params, progress_of(job.position)
    asked_at = datetime.fromisoformat(params["asked_at"])
    accounts = _still_led(params["accounts"], accounts_with(person, Right.LEAD))
    context = ParseContext(now=asked_at, login=person.login)
    query = stored_selection(params).filters(context, accounts)
    filters = await queue_items.with_hidden_reviews(connection, query.filters, person.person_id)
    done = await bulk.review_batch(
        connection,
        filters,
        _template(params, job, person),
        asked_at=asked_at,
        cursor=so_far.cursor or None,
        now=site.now(),
    )
    after = BulkProgress(
        reviewed=so_far.reviewed + done.reviewed,
        skipped=so_far.skipped + done.skipped,
        unrestored=so_far.unrestored + done.unrestored,
        cursor=done.cursor or "",
    )
    return JobStep(done=after.reviewed + after.skipped, position=str(after), finished=done.cursor is None)


async def undo_step(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
    """Withdraw the next reviews of a bulk review, in accounts that the job's owner still leads."""
    so_far, accounts = undo_progress_of(job.position), accounts_with(person, Right.LEAD)
    reviewer = Reviewer(person_id=person.person_id, login=person.login)
    last = UUID(so_far.last) if so_far.last else None
    reviews = await reviews_of_job(connection, UUID(job.params["of"]), after=last, limit=UNDO_BATCH)
    undone, now = so_far.undone, site.now()
    for review in reviews:
        if accounts is None or review.user_id in accounts:
            undone += await withdraw_unchanged(connection, review, reviewer, now, job_id=job.job_id)
    done = so_far.undone + so_far.kept + len(reviews)
    finished = len(reviews) < UNDO_BATCH
    after = UndoProgress(
        undone=undone, kept=done - undone, last="" if finished else str(reviews[-1].decision_id)
    )
    return JobStep(done=done, position=str(after), finished=finished)


def _template(params: Mapping[str, Any], job: Job, person: Person) -> Submission:
    return Submission(
        decision_id=NO_DECISION,  # each decision replaces it
        reviewer=Reviewer(person_id=person.person_id, login=person.login),
        ruling=Ruling(params["ruling"]),
        reason=RulingReason(params["reason"]) if params["reason"] else None,
        note=params["note"],
        corrected=DecisionKind(params["corrected"]) if params["corrected"] else None,
        remedy=Remedy(params["remedy"]),
        source=ReviewSource.BULK,
        job_id=job.job_id,
    )


def _still_led(before: Sequence[str] | None, now: Sequence[str] | None) -> tuple[str, ...] | None:
    """Accounts that the owner led when the job was requested, and still leads."""
    if before is None:
        return None if now is None else tuple(now)
    return tuple(sorted(set(before) if now is None else set(before) & set(now)))
