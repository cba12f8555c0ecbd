"""Undo: withdrawing a review with its effect, within a minute or as part of an undone bulk review."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from db.connection import Connection
from db.identifiers import uuid_at
from db.reviews import exchanges, queue_items, remedies, rulings
from db.reviews.appended_reviews import append_review, lock_review_state, review_columns, update_review_state
from db.reviews.exchanges import ReviewSubject
from db.reviews.remedies import UndoTooLate
from db.reviews.rulings import (
    UNDO_WINDOW,
    DecisionGone,
    Effect,
    Review,
    Reviewer,
    ReviewRejected,
    ReviewSource,
    Ruling,
)
from features.feature import hook_values


async def withdraw_review(
    connection: Connection, review_id: UUID, reviewer: Reviewer, now: datetime
) -> Review:
    """Withdraw a review within ``UNDO_WINDOW``, with its effect; the appended withdrawal.

    Raises:
        ReviewRejected: the review does not exist, is another person's, is already withdrawn, or answers a
            golden item.
        UndoTooLate: the window is over, the channel was already asked to remove the reply, or a person sent
            another answer since.
    """
    first = await rulings.get_review(connection, review_id)
    subject = await exchanges.load_subject(connection, first.decision_id) if first else None
    if first is None or subject is None:
        raise DecisionGone(f"undo: expected the id of a stored review, got {review_id}")
    mine = uuid_at(now)
    await lock_review_state(connection, subject, mine, now)
    review = await rulings.get_review(connection, review_id)
    assert review is not None  # reviews are never deleted
    _check_may_undo(review, reviewer, now)
    await _check_same_exchange(connection, subject, review)
    await _append_withdrawal(connection, subject, review, review_columns(subject, reviewer, mine, now))
    stored = await rulings.get_review(connection, mine)
    assert stored is not None  # stored above
    return stored


async def withdraw_unchanged(
    connection: Connection, review: Review, reviewer: Reviewer, now: datetime, *, job_id: UUID
) -> bool:
    """Withdraw a review of an undone bulk review, with its effect.

    False, and nothing is changed, when the decision was reviewed or answered since, or is no longer stored.
    """
    subject, mine = await exchanges.load_subject(connection, review.decision_id), uuid_at(now)
    if subject is None or await lock_review_state(connection, subject, mine, now) != review.id:
        return False
    try:
        await _check_same_exchange(connection, subject, review)
    except UndoTooLate:
        return False
    row = review_columns(subject, reviewer, mine, now) | {"job_id": job_id}
    await _append_withdrawal(connection, subject, review, row)
    return True


async def _append_withdrawal(
    connection: Connection, subject: ReviewSubject, review: Review, row: dict[str, Any]
) -> None:
    """Undo the effect, append the withdrawal, and reopen what the review had closed; the state is locked."""
    now: datetime = row["created_at"]
    for undone in hook_values("undone"):
        await undone(connection, review.id)
    effect = await remedies.undo_remedy(connection, subject, review, now)
    change = {"ruling": Ruling.WITHDRAWN, "effect": effect, "source": review.source, "withdraws": review.id}
    await append_review(connection, row | change)
    await update_review_state(connection, subject, row["id"], now)
    await queue_items.reopen_items(connection, review.id, now)


def _check_may_undo(review: Review, reviewer: Reviewer, now: datetime) -> None:
    if not review.is_by(reviewer):
        raise ReviewRejected(f"undo: expected a review of your own, got one by {review.person}")
    if not review.standing:
        raise ReviewRejected("undo: expected a review that stands, got one that is already withdrawn")
    if review.source is ReviewSource.GOLDEN:
        raise ReviewRejected("undo: expected a review, got an answer whose known answer you have seen")
    if now > review.undo_until():
        raise UndoTooLate(
            f"undo: expected a review younger than {UNDO_WINDOW.total_seconds():.0f} s, got an older one;"
            " store a new review instead, which withdraws it"
        )


async def _check_same_exchange(connection: Connection, subject: ReviewSubject, review: Review) -> None:
    """Refuse to undo an effect on an exchange that is not the decision's newest any more."""
    if review.effect is Effect.NONE:
        return
    if await exchanges.answered_since(connection, subject, review.created_at):
        raise UndoTooLate(
            "undo: expected no newer answer to the message, got one; store a new review instead, which"
            " concerns that answer"
        )
