"""How often policies rejected a draft, by reason."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from db.connection import Connection
from db.figures.reach import FigureFilter
from db.rows import all_rows
from db.tables import ai_decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionCount:
    """A reason of rejections.

    Attributes:
        share: 0..1, of all rejections.
    """

    rejection_reason: str
    decisions: int
    share: float


async def rejection_counts(connection: Connection, filters: FigureFilter) -> tuple[RejectionCount, ...]:
    """The reasons of a range, most frequent first, read from an index that has only the rejections."""
    kept, number = ai_decisions.c, sa.func.count().label("number")
    query = (
        sa.select(kept.rejection_reason, number)
        .where(
            kept.rejection_reason.is_not(None),
            kept.created_at >= filters.since,
            kept.created_at < filters.until,
        )
        .group_by(kept.rejection_reason)
        .order_by(number.desc(), kept.rejection_reason)
    )
    if filters.chosen is not None:
        query = query.where(kept.user_id.in_(filters.chosen))
    if filters.scope is not None:
        query = query.where(kept.scope == filters.scope)
    rows = await all_rows(connection, query)
    total = sum(row["number"] for row in rows)
    return tuple(
        RejectionCount(
            rejection_reason=row["rejection_reason"], decisions=row["number"], share=row["number"] / total
        )
        for row in rows
    )
