"""Bulk review: count matching decisions, try the review on some, then review all, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.audit import decision_list
from db.audit.filters import Filters
from db.audit.search import SearchRow, matching_query
from db.connection import Connection
from db.reviews import exchanges, submission
from db.reviews.rulings import Effect, Remedy, ReviewRejected
from db.reviews.submission import Submission

MOST: Final = 10_000
"""Most decisions of one bulk review."""
NEWEST: Final = sa.text(
    "SELECT decision_id, last_review, updated_at FROM review_states WHERE decision_id = ANY(:ids)"
)
OWN: Final = sa.text("""
    SELECT decision_id FROM decision_reviews r
    WHERE decision_id = ANY(:ids) AND person_id = :person AND ruling <> 'withdrawn' AND source <> 'golden'
        AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
""")
BATCH: Final = 100
"""Decisions per step and transaction: about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedReview:
    """What a bulk review would do with one decision.

    Attributes:
        effect: of the review; None when the decision is skipped.
        problem: why it is skipped; empty otherwise.
        replaces: the review withdraws an earlier review of the same person.
    """

    row: SearchRow
    effect: Effect | None
    problem: str = ""
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkBatch:
    """The result of one batch.

    Attributes:
        skipped: decisions that were reviewed after the bulk review was requested, or that are gone.
        unrestored: reviewed decisions whose exchange could not be restored.
        cursor: where the next batch begins; None when there is none.
    """

    reviewed: int
    skipped: int
    unrestored: int
    cursor: str | None


async def count_matching(connection: Connection, filters: Filters) -> int:
    """The exact number of matching decisions; ``MOST + 1`` means more than ``MOST``."""
    some = matching_query(filters).limit(MOST + 1).subquery()
    return int((await connection.execute(sa.select(sa.func.count()).select_from(some))).scalar_one())


async def try_reviews(
    connection: Connection, filters: Filters, template: Submission, *, limit: int, now: datetime
) -> tuple[TriedReview, ...]:
    """What the review would do with the newest decisions: the reviews are stored, and rolled back."""
    page = await decision_list.load_page(connection, filters, limit=limit)
    newest = await _newest_reviews(connection, page.rows)
    ids = [row["id"] for row in page.rows]
    found = await connection.execute(OWN, {"ids": ids, "person": template.reviewer.person_id})
    own = set(found.scalars())
    tried = []
    async with connection.transaction(force_rollback=True):
        for row in page.rows:
            seen, _ = newest.get(row["id"], (None, None))
            try:
                effect = await _review(connection, replace(template, decision_id=row["id"], seen=seen), now)
            except ReviewRejected as rejected:
                tried.append(TriedReview(row=row, effect=None, problem=str(rejected)))
            else:
                tried.append(TriedReview(row=row, effect=effect, replaces=row["id"] in own))
    return tuple(tried)


async def review_batch(
    connection: Connection,
    filters: Filters,
    template: Submission,
    *,
    asked_at: datetime,
    cursor: str | None,
    now: datetime,
) -> BulkBatch:
    """Store the ``template`` review on the next decisions, in the caller's transaction.

    The remedy ``RESTORE`` means the restore that each decision offers, and nothing where nothing is sealed.
    A decision that was reviewed after ``asked_at`` is skipped.
    """
    page = await decision_list.load_page(connection, filters, limit=BATCH, cursor=cursor)
    newest = await _newest_reviews(connection, page.rows)
    reviewed = skipped = unrestored = 0
    for row in page.rows:
        seen, changed_at = newest.get(row["id"], (None, None))
        if changed_at is not None and changed_at > asked_at:
            skipped += 1
            continue
        try:
            effect = await _review(connection, replace(template, decision_id=row["id"], seen=seen), now)
        except ReviewRejected:  # reviewed meanwhile, erased, or already as corrected
            skipped += 1
            continue
        reviewed += 1
        unrestored += template.remedy is not Remedy.NONE and effect is Effect.NONE
    return BulkBatch(reviewed=reviewed, skipped=skipped, unrestored=unrestored, cursor=page.older)


async def _newest_reviews(
    connection: Connection, rows: Sequence[SearchRow]
) -> dict[UUID, tuple[UUID, datetime]]:
    """The newest review of each reviewed decision, and when its state changed last."""
    found = await connection.execute(NEWEST, {"ids": [row["id"] for row in rows]})
    return {row.decision_id: (row.last_review, row.updated_at) for row in found}


async def _review(connection: Connection, review: Submission, now: datetime) -> Effect:
    """The effect of the stored review; a bulk review restores exchanges and never removes an exchange."""
    if review.remedy is not Remedy.NONE:
        proposed = await exchanges.proposed_remedy(connection, review.decision_id, review.ruling, now)
        review = replace(review, remedy=Remedy.NONE if proposed is Remedy.REMOVE else proposed)
    async with connection.transaction():
        return (await submission.submit_review(connection, review, now)).review.effect
