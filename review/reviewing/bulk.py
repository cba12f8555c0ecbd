"""Bulk reviews: what was asked for, and the step that a job repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl
from uuid import UUID

from db import audit, bulk_reviews
from db.audit import Filters
from db.jobs import Job, Step, Transaction
from db.people import Person
from db.reviewing import Submission
from db.reviews import Cause, Remedy, Reviewer, Ruling, Source
from review.access import Right, accounts_with
from review.lists.filters import Asked, Asker, asked
from review.web import Site
from worker.model import Verdict

NOBODY: Final = UUID(int=0)
"""Stands where each decision's own id goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How far a bulk review is."""

    reviewed: int = 0
    skipped: int = 0
    unrestored: int = 0
    cursor: str = ""

    def __str__(self) -> str:
        return f"{self.reviewed}:{self.skipped}:{self.unrestored}:{self.cursor}"


def wanted(
    query: str, *, asked_at: datetime, login: str, accounts: Sequence[str] | None
) -> tuple[Asked, Filters]:
    """The filters of a query as they were when somebody looked; what came later does not match."""
    found = asked(
        parse_qsl(query),
        Asker(now=asked_at, login=login),
        None if accounts is None else tuple(accounts),
    )
    until = min(found.filters.until or asked_at, asked_at)
    return found, replace(found.filters, until=until)


def ordered(
    given: Submission, *, query: str, asked_at: datetime, accounts: Sequence[str] | None
) -> dict[str, Any]:
    """What a job needs to know, as JSON."""
    return {
        "query": query,
        "asked_at": asked_at.isoformat(),
        "accounts": None if accounts is None else list(accounts),
        "verdict": given.ruling,
        "reason": given.cause,
        "note": given.note,
        "corrected": given.corrected,
        "remedy": given.remedy,
    }


def outcome(position: str | None) -> Outcome:
    """How far a job is, by its position."""
    if position is None:
        return Outcome()
    reviewed, skipped, unrestored, cursor = position.split(":", 3)
    return Outcome(reviewed=int(reviewed), skipped=int(skipped), unrestored=int(unrestored), cursor=cursor)


async def step(site: Site, connection: Transaction, job: Job, person: Person) -> Step:
    """Review the next batch, as far as its owner may still lead the accounts."""
    params, so_far = job.params, outcome(job.position)
    asked_at = datetime.fromisoformat(params["asked_at"])
    accounts = _still(params["accounts"], accounts_with(person, Right.LEAD))
    _, filters = wanted(params["query"], asked_at=asked_at, login=person.login, accounts=accounts)
    filters = await audit.unspoilt(connection, filters, person.person_id)
    done = await bulk_reviews.batch(
        connection,
        filters,
        _like(params, job, person),
        asked_at=asked_at,
        cursor=so_far.cursor or None,
        now=site.now(),
    )
    after = Outcome(
        reviewed=so_far.reviewed + done.reviewed,
        skipped=so_far.skipped + done.skipped,
        unrestored=so_far.unrestored + done.unrestored,
        cursor=done.cursor or "",
    )
    dealt_with = after.reviewed + after.skipped
    return Step(done=dealt_with, position=str(after), finished=done.cursor is None)


def _like(params: Mapping[str, Any], job: Job, person: Person) -> Submission:
    return Submission(
        decision_id=NOBODY,
        reviewer=Reviewer(person_id=person.person_id, login=person.login),
        ruling=Ruling(params["verdict"]),
        cause=Cause(params["reason"]) if params["reason"] else None,
        note=params["note"],
        corrected=Verdict(params["corrected"]) if params["corrected"] else None,
        remedy=Remedy(params["remedy"]),
        source=Source.BULK,
        job_id=job.job_id,
    )


def _still(then: Sequence[str] | None, now: Sequence[str] | None) -> tuple[str, ...] | None:
    """Accounts that somebody could lead when they asked, and can still."""
    if then is None:
        return None if now is None else tuple(now)
    return tuple(sorted(set(then) if now is None else set(then) & set(now)))
