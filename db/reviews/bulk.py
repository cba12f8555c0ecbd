"""Bulk review: count matching decisions, then review them a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit import decision_list
from db.audit.filters import Filters
from db.audit.search import matching_query
from db.reviews import exchanges, submission
from db.reviews.rulings import Remedy, ReviewRejected
from db.reviews.submission import Submission

MOST: Final = 10_000
"""Most decisions of one bulk review."""
NEWEST: Final = sa.text(
    "SELECT decision_id, last_review, updated_at FROM review_states WHERE decision_id = ANY(:ids)"
)
BATCH: Final = 100
"""Decisions per step and transaction: about a second."""


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


async def count_matching(connection: AsyncConnection, filters: Filters) -> int:
    """The exact number of matching decisions; ``MOST + 1`` means more than ``MOST``."""
    some = matching_query(filters).limit(MOST + 1).subquery()
    return int((await connection.execute(sa.select(sa.func.count()).select_from(some))).scalar_one())


async def review_batch(
    connection: AsyncConnection,
    filters: Filters,
    template: Submission,
    *,
    asked_at: datetime,
    cursor: str | None,
    now: datetime,
) -> BulkBatch:
    """Store the ``template`` review on the next decisions, in the caller's transaction.

    The remedy ``RESTORE`` means each decision's proposed remedy, and none where nothing is sealed.
    A decision that was reviewed after ``asked_at`` is skipped.
    """
    page = await decision_list.load_page(connection, filters, limit=BATCH, cursor=cursor)
    newest = {
        row.decision_id: (row.last_review, row.updated_at)
        for row in await connection.execute(NEWEST, {"ids": [row["id"] for row in page.rows]})
    }
    reviewed = skipped = unrestored = 0
    for row in page.rows:
        seen, changed_at = newest.get(row["id"], (None, None))
        if changed_at is not None and changed_at > asked_at:
            skipped += 1
            continue
        review = replace(template, decision_id=row["id"], seen=seen)
        stored = await _review(connection, review, now)
        reviewed += stored is not None
        skipped += stored is None
        unrestored += stored is False
    return BulkBatch(reviewed=reviewed, skipped=skipped, unrestored=unrestored, cursor=page.older)


async def _review(connection: AsyncConnection, review: Submission, now: datetime) -> bool | None:
    """Whether the requested remedy was applied; None when nothing was stored."""
    has_remedy = review.remedy is not Remedy.NONE
    if has_remedy:
        proposed = await exchanges.proposed_remedy(connection, review.decision_id, review.ruling, now)
        review = replace(review, remedy=proposed)
    try:
        async with connection.begin_nested():
            await submission.submit_review(connection, review, now)
    except ReviewRejected:  # reviewed meanwhile, erased, or already as corrected
        return None
    return not has_remedy or review.remedy is not Remedy.NONE
