"""Appending rows of reviews, and updating the review state of their decision."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.review_tables import decision_reviews
from db.reviews import rulings
from db.reviews.exchanges import ReviewSubject
from db.reviews.queue_items import LOCK
from db.reviews.rulings import Reviewer

LOCK_STATE: Final = sa.text(f"""
    {LOCK}
    INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review, updated_at)
    SELECT CAST(:decision AS uuid), CAST(:decision_at AS timestamptz), :user_id, 'open', 0,
        CAST(:mine AS uuid), CAST(:now AS timestamptz)
    FROM (SELECT count(*) FROM locked) AS items
    ON CONFLICT (decision_id) DO UPDATE SET decision_id = EXCLUDED.decision_id
    RETURNING last_review
""")
SET_STATE: Final = sa.text("""
    UPDATE review_states SET state = :state, reviews = :reviews, last_review = :last, updated_at = :now
    WHERE decision_id = :decision
""")


async def lock_review_state(
    connection: Connection, subject: ReviewSubject, mine: UUID, now: datetime
) -> UUID | None:
    """Lock the decision's queue items, then its review state, until the transaction ends.

    Always in this order, so that two reviews never wait for each other. The newest review so far.
    """
    values = {
        "decision": subject.id,
        "decision_at": subject.created_at,
        "user_id": subject.user_id,
        "mine": mine,
        "now": now,
    }
    last: UUID = (await connection.execute(LOCK_STATE, values)).scalar_one()
    return None if last == mine else last


async def append_review(connection: Connection, values: dict[str, object]) -> None:
    """Append one row of ``decision_reviews``."""
    await connection.execute(sa.insert(decision_reviews).values(**values))


def review_columns(
    subject: ReviewSubject, reviewer: Reviewer, review_id: UUID, now: datetime
) -> dict[str, object]:
    """The columns that every review has."""
    return {
        "id": review_id,
        "decision_id": subject.id,
        "decision_at": subject.created_at,
        "user_id": subject.user_id,
        "person_id": reviewer.person_id,
        "person": reviewer.login,
        "created_at": now,
    }


async def update_review_state(
    connection: Connection, subject: ReviewSubject, last: UUID, now: datetime
) -> None:
    """Set the decision's review state to that of its stored reviews."""
    reviews = await rulings.list_reviews(connection, subject.id)
    values = {
        "decision": subject.id,
        "state": rulings.review_state(reviews),
        "reviews": len(rulings.standing_reviews(reviews)),
        "last": last,
        "now": now,
    }
    await connection.execute(SET_STATE, values)
