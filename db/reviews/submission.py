"""Storing a review in one transaction, with its effect on history and queues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from db.connection import Connection
from db.identifiers import uuid_at
from db.reviews import corrections, exchanges, golden_answers, queue_items, remedies, rulings
from db.reviews.appended_reviews import append_review, lock_review_state, review_columns, update_review_state
from db.reviews.exchanges import ReviewSubject
from db.reviews.queue_items import HeldItem
from db.reviews.remedies import RemedyResult
from db.reviews.rulings import (
    NOTE_CHARS,
    RULINGS,
    DecisionGone,
    Remedy,
    Review,
    Reviewer,
    ReviewRejected,
    ReviewSource,
    Ruling,
    RulingReason,
)
from worker.model import DecisionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A review as a person submits it.

    Attributes:
        reason: required with ``overturn``.
        corrected: the decision that would have been right; only with ``overturn``, and required with it
            unless its reason implies one or it is a bulk review.
        source: ``page``, ``bulk`` or ``cli``; a page's becomes ``queue``, ``blind`` or ``golden`` when its
            person holds the decision in a queue.
        seen: the newest review on the person's page, None when there was none; for a held item, which shows
            no reviews, any identifier made when the page was made.
        of_item: the page showed a queue item, so that the review counts only while the person holds it.
    """

    decision_id: UUID
    reviewer: Reviewer
    ruling: Ruling
    reason: RulingReason | None = None
    note: str = ""
    corrected: DecisionKind | None = None
    remedy: Remedy = Remedy.NONE
    source: ReviewSource = ReviewSource.PAGE
    seen: UUID | None = None
    of_item: bool = False
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReview:
    """A review that was stored; ``known``: the known answer, when it was a golden item."""

    review: Review
    item: HeldItem | None
    known: golden_answers.KnownAnswer | None


class StaleReview(ReviewRejected):
    """Another person reviewed the decision meanwhile; nothing was stored.

    Attributes:
        reviews: all reviews of the decision, oldest first.
    """

    def __init__(self, others: tuple[Review, ...]) -> None:
        super().__init__(
            "review: expected the newest reviews on your page, got older ones; there is a newer review"
        )
        self.reviews = others


async def submit_review(connection: Connection, submission: Submission, now: datetime) -> StoredReview:
    """Store a review with its effect, close the queue item it answers, and queue a second reading where due.

    It withdraws an earlier standing review of the same person, but for a blind reading, which is compared
    with others; the effect of that review stays unless the new one asks for the opposite.

    Raises:
        DecisionGone: there is no such decision.
        ReviewRejected: a field is invalid.
        StaleReview: another person reviewed the decision meanwhile.
        RemedyImpossible: the exchange is not where the remedy needs it.
    """
    subject = await exchanges.load_subject(connection, submission.decision_id)
    if subject is None:
        raise DecisionGone(f"decision: expected the id of a stored one, got {submission.decision_id}")
    submission = _checked(submission, subject)
    person, held = submission.reviewer.person_id, None
    if submission.source is ReviewSource.PAGE and person is not None:
        held = await queue_items.locked_item(connection, submission.decision_id, person)
    if submission.of_item and held is None:
        raise ReviewRejected("You no longer hold this item: it is answered, or another person holds it.")
    source = held.source if held else submission.source
    review_id = uuid_at(now)
    if source is ReviewSource.GOLDEN:
        result = RemedyResult()
    else:
        await _replace_earlier_review(connection, submission, subject, review_id, now, held=held)
        apply = remedies.apply_remedy if held is None else remedies.apply_remedy_blind
        result = await apply(
            connection, subject, submission.remedy, ruling=submission.ruling, review_id=review_id, now=now
        )
    columns = {"source": source, "item_id": held.item_id if held else None, **_columns(submission, result)}
    await append_review(connection, review_columns(subject, submission.reviewer, review_id, now) | columns)
    if source is not ReviewSource.GOLDEN:
        await update_review_state(connection, subject, review_id, now)
    await queue_items.settle_items(
        connection, subject.id, review_id=review_id, answered=held, person_id=person, now=now
    )
    stored = await rulings.get_review(connection, review_id)
    assert stored is not None  # stored above
    known = (
        await golden_answers.known_answer(connection, subject.id) if source is ReviewSource.GOLDEN else None
    )
    return StoredReview(review=stored, item=held, known=known)


def _checked(submission: Submission, subject: ReviewSubject) -> Submission:
    """The submission with the right decision that its reason implies.

    Raises:
        ReviewRejected: a field is invalid.
    """
    if submission.ruling not in RULINGS:
        raise ReviewRejected(f"ruling: expected {', '.join(RULINGS)}, got {submission.ruling}")
    if submission.ruling is Ruling.OVERTURN and submission.reason is None:
        raise ReviewRejected("reason: expected a reason code, as an overturn needs one, got nothing")
    if submission.ruling is Ruling.OVERTURN and submission.reason is RulingReason.CORRECT:
        raise ReviewRejected(
            f"reason: expected what was wrong, as you overturn it, got {RulingReason.CORRECT}"
        )
    if len(submission.note) > NOTE_CHARS:
        raise ReviewRejected(f"note: expected at most {NOTE_CHARS} characters, got {len(submission.note)}")
    if "\0" in submission.note:
        raise ReviewRejected("note: expected text without NUL characters, got one")
    return replace(submission, corrected=_correction(submission, subject))


def _correction(submission: Submission, subject: ReviewSubject) -> DecisionKind | None:
    """The right decision; a bulk review of many kinds of decisions may leave it open."""
    ruling, reason, given = submission.ruling, submission.reason, submission.corrected
    if submission.source is ReviewSource.BULK and ruling is Ruling.OVERTURN and given is None:
        return corrections.implied_correction(subject.decision, reason)
    return corrections.required_correction(subject.decision, ruling, reason, given)


def _columns(submission: Submission, result: RemedyResult) -> dict[str, object]:
    return {
        "ruling": submission.ruling,
        "corrected_decision": submission.corrected,
        "reason_code": submission.reason or "",
        "note": submission.note.strip(),
        "effect": result.effect,
        "sealed_until": result.sealed_until,
        "job_id": submission.job_id,
    }


async def _replace_earlier_review(
    connection: Connection,
    submission: Submission,
    subject: ReviewSubject,
    review_id: UUID,
    now: datetime,
    *,
    held: HeldItem | None,
) -> None:
    """Lock the review state, refuse a stale submission, and withdraw the person's earlier review."""
    before = await lock_review_state(connection, subject, review_id, now)
    reviews = await rulings.list_reviews(connection, subject.id)
    if _stale(submission.seen, before, held):
        raise StaleReview(reviews)
    for each in rulings.standing_reviews(reviews):
        if each.is_by(submission.reviewer) and each.source is not ReviewSource.BLIND:
            row = review_columns(subject, submission.reviewer, uuid_at(now), now)
            change = {"ruling": Ruling.WITHDRAWN, "source": each.source, "withdraws": each.id}
            await append_review(connection, row | change)


def _stale(seen: UUID | None, before: UUID | None, held: HeldItem | None) -> bool:
    """Whether the decision was reviewed after the page was made; never for a blind reading."""
    if before is None or seen == before or (held is not None and held.hides_reviews):
        return False
    return held is None or seen is None or before > seen  # UUIDv7 sort by time
