"""Reviewing many decisions alike: counting them first, then a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db import audit, exchanges, reviewing
from db.audit import Filters
from db.audit_search import matching
from db.review_tables import review_states
from db.reviewing import Submission
from db.reviews import Remedy, ReviewRejected

MOST: Final = 10_000
"""Decisions of one bulk review; whoever wants more has not looked at what they ask for."""
BATCH: Final = 100
"""Decisions of one step and transaction: about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What became of one batch.

    Attributes:
        reviewed: reviews that were stored.
        skipped: decisions that somebody reviewed after the bulk was asked for, or that are gone.
        unrestored: of the reviewed ones, those whose exchange was to be restored and could not be.
        cursor: where the next batch begins; None when there is none.
    """

    reviewed: int
    skipped: int
    unrestored: int
    cursor: str | None


async def counted(connection: AsyncConnection, filters: Filters) -> int:
    """How many decisions match, counted one by one; ``MOST + 1`` stands for more than ``MOST``."""
    some = matching(filters).limit(MOST + 1).subquery()
    return int((await connection.execute(sa.select(sa.func.count()).select_from(some))).scalar_one())


async def batch(
    connection: AsyncConnection,
    filters: Filters,
    like: Submission,
    *,
    asked_at: datetime,
    cursor: str | None,
    now: datetime,
) -> Batch:
    """Review the next decisions as ``like`` says; all of it in the caller's transaction.

    ``like.remedy`` may be ``RESTORE``: each decision's own proposal, and nothing where nothing is sealed.
    A decision that somebody reviewed after ``asked_at`` is left as they left it.
    """
    page = await audit.page(connection, filters, limit=BATCH, cursor=cursor)
    newest = await _newest(connection, [row["id"] for row in page.rows])
    reviewed = skipped = unrestored = 0
    for row in page.rows:
        seen, changed_at = newest.get(row["id"], (None, None))
        if changed_at is not None and changed_at > asked_at:
            skipped += 1
            continue
        given = replace(like, decision_id=row["id"], seen=seen)
        done = await _one(connection, given, now)
        reviewed += done is not None
        skipped += done is None
        unrestored += done is False
    return Batch(reviewed=reviewed, skipped=skipped, unrestored=unrestored, cursor=page.older)


async def _one(connection: AsyncConnection, given: Submission, now: datetime) -> bool | None:
    """Whether the remedy that was asked for went with it; None when nothing was stored."""
    wanted = given.remedy is not Remedy.NONE
    if wanted:
        proposed = await exchanges.proposed(connection, given.decision_id, given.ruling, now)
        given = replace(given, remedy=proposed)
    try:
        async with connection.begin_nested():
            await reviewing.submit(connection, given, now)
    except ReviewRejected:  # somebody was faster, it is gone, or it was decided so already
        return None
    return not wanted or given.remedy is not Remedy.NONE


async def _newest(connection: AsyncConnection, ids: list[UUID]) -> dict[UUID, tuple[Any, datetime]]:
    """The newest review of each decision that has one, and when."""
    columns = review_states.c
    query = sa.select(columns.decision_id, columns.last_review, columns.updated_at)
    found = await connection.execute(query.where(columns.decision_id.in_(ids)))
    return {row.decision_id: (row.last_review, row.updated_at) for row in found}
