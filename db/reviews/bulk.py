"""Bulk review: count matching decisions, then review them a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit import decision_list
from db.audit.decision_list import Filters
from db.audit.search import matching_query
from db.review_tables import review_states
from db.reviews import exchanges, submission
from db.reviews.rulings import Remedy, ReviewRejected
from db.reviews.submission import Submission

MOST: Final = 10_000
"""Most decisions of one bulk review."""
BATCH: Final = 100
"""Decisions per step and transaction: about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkBatch:
    """The result of one batch.

    Attributes:
        reviewed: reviews that were stored.
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
    newest = await _newest(connection, [row["id"] for row in page.rows])
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


async def _newest(connection: AsyncConnection, ids: list[UUID]) -> dict[UUID, tuple[Any, datetime]]:
    """The newest review of each decision, and its time."""
    columns = review_states.c
    query = sa.select(columns.decision_id, columns.last_review, columns.updated_at)
    found = await connection.execute(query.where(columns.decision_id.in_(ids)))
    return {row.decision_id: (row.last_review, row.updated_at) for row in found}
