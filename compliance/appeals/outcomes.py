"""Deciding an appeal: a review by a person who has not ruled on or answered the decision, with its remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from compliance.appeals import records
from compliance.appeals.records import Appeal, AppealOutcome, AppealRefused, RefusalCode
from db.answers.records import Answer, list_answers
from db.connection import Connection
from db.identifiers import uuid_at
from db.reviews import corrections, exchanges, rulings
from db.reviews.appended_reviews import lock_review_state
from db.reviews.exchanges import ReviewSubject
from db.reviews.remedies import UndoTooLate
from db.reviews.rulings import (
    Effect,
    Remedy,
    Review,
    Reviewer,
    ReviewRejected,
    ReviewSource,
    Ruling,
    RulingReason,
)
from db.reviews.submission import Submission, submit_review

LOCK: Final = sa.text("SELECT id FROM appeals WHERE id = :id FOR UPDATE")
DECIDE: Final = sa.text("""
    UPDATE appeals SET outcome = :outcome, statement = :statement, decided_by = :decided_by,
        decided_at = :now, review_id = :review_id, effect = :effect
    WHERE id = :id AND outcome IS NULL
""")

SETTLED: Final = sa.text("""
    SELECT settled_at IS NOT NULL FROM appeals WHERE review_id = :review FOR UPDATE
""")
REOPEN: Final = sa.text("""
    UPDATE appeals SET outcome = NULL, statement = NULL, decided_by = NULL, decided_at = NULL,
        review_id = NULL, effect = NULL
    WHERE review_id = :review
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOutcome:
    """What a person decides.

    Attributes:
        statement: the reasons, as the author gets them.
        reason: of the overturn; required with ``restored``, else None.
    """

    appeal_id: UUID
    outcome: AppealOutcome
    statement: str
    reviewer: Reviewer
    reason: RulingReason | None = None


def ruled_before(reviews: Iterable[Review], answers: Iterable[Answer], reviewer: Reviewer) -> bool:
    """Whether a person ruled on the decision, or answered or closed its message; also withdrawn later.

    What the person decided on the appeal itself does not count: an outcome that was undone may be given anew.
    """
    return any(
        each.is_by(reviewer)
        and each.ruling is not Ruling.WITHDRAWN
        and each.source is not ReviewSource.APPEAL
        for each in reviews
    ) or any(each.person_id is not None and each.person_id == reviewer.person_id for each in answers)


async def decide_appeal(connection: Connection, new: NewOutcome, now: datetime) -> Appeal:
    """Store the outcome of an open appeal, with the review and the remedy that follow from it.

    Raises:
        AppealRefused: it is decided, its person ruled on the decision before, or the statement is unusable.
        ReviewRejected: the reason does not fit the decision, or there is no such appeal.
    """
    statement = records.checked_text("statement", new.statement)
    await connection.execute(LOCK, {"id": new.appeal_id})
    appeal = await records.get_appeal(connection, new.appeal_id)
    if appeal is None:
        raise ReviewRejected(f"appeal: expected the id of a stored one, got {new.appeal_id}")
    if appeal.outcome is not None:
        message = (
            f"appeal: expected one that is open, got one that {appeal.decided_by} decided: {appeal.outcome}"
        )
        raise AppealRefused(RefusalCode.ALREADY_DECIDED, message)
    review = await _store_review(connection, appeal, new, statement, now)
    values = {
        "id": appeal.id,
        "outcome": new.outcome.value,
        "statement": statement,
        "decided_by": new.reviewer.login,
        "now": now,
        "review_id": review.id if review else None,
        "effect": (review.effect if review else Effect.NONE).value,
    }
    await connection.execute(DECIDE, values)
    decided = await records.get_appeal(connection, appeal.id)
    assert decided is not None  # locked above
    return decided


async def _store_review(
    connection: Connection, appeal: Appeal, new: NewOutcome, statement: str, now: datetime
) -> Review | None:
    """The review of the outcome; None when retention has deleted the decision."""
    subject = await exchanges.load_subject(connection, appeal.decision_id)
    if subject is None:
        return None
    mine = uuid_at(now)
    newest = await lock_review_state(connection, subject, mine, now)
    reviews = await rulings.list_reviews(connection, subject.id)
    if ruled_before(reviews, await list_answers(connection, subject.id), new.reviewer):
        message = "appeal: expected a person who has not ruled on the decision, got one who has"
        raise AppealRefused(RefusalCode.ORIGINAL_REVIEWER, message)
    restored = new.outcome is AppealOutcome.RESTORED
    submission = Submission(
        decision_id=subject.id,
        reviewer=new.reviewer,
        ruling=Ruling.OVERTURN if restored else Ruling.AGREE,
        reason=new.reason if restored else None,
        note=statement,
        corrected=corrections.proposed_correction(subject.decision, subject.reason_code, new.reason)
        if restored
        else None,
        remedy=await _remedy(connection, subject, now) if restored else Remedy.NONE,
        source=ReviewSource.APPEAL,
        seen=newest or mine,
    )
    return (await submit_review(connection, submission, now)).review


async def _remedy(connection: Connection, subject: ReviewSubject, now: datetime) -> Remedy:
    """Restore what is still sealed; never a draft that was not sent."""
    return await exchanges.proposed_remedy(connection, subject.id, Ruling.OVERTURN, now)


async def reopen_appeal(connection: Connection, review_id: UUID) -> None:
    """Open the appeal that a review decided, if there is one.

    Raises:
        UndoTooLate: its outcome was reported.
    """
    settled = (await connection.execute(SETTLED, {"review": review_id})).scalar()
    if settled:
        raise UndoTooLate("undo: expected an outcome that was not reported yet, got one that was")
    if settled is not None:
        await connection.execute(REOPEN, {"review": review_id})
