"""Decisions like one: the same rule or reason on the same account, with near text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.hot_categories import HOT_CATEGORIES
from db.identifiers import bounds
from db.review_tables import review_states
from db.tables import ai_decisions

AROUND: Final = timedelta(days=30)
COMPARED: Final = 400
"""Texts compared with the one at hand, half older and half newer: some 10 ms whatever the audit holds."""
LEAST: Final = 0.3
"""pg_trgm's own threshold: a third of the three-letter pieces are shared."""
COLUMNS: Final = (
    "id",
    "created_at",
    "user_id",
    "decision",
    "reason_code",
    "matched_rule",
    "message_text",
    "confidence",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """A decision that is like another.

    Attributes:
        row: its columns for lists, with ``hot_categories``.
        nearness: 0..1, shared three-letter pieces.
        state: where its reviews stand; ``open`` without any.
    """

    row: dict[str, Any]
    nearness: float
    state: str


async def similar_to(
    connection: AsyncConnection, decision_id: UUID, *, limit: int = 8
) -> tuple[Similar, ...]:
    """The nearest among the decisions around one, nearest first; itself is left out."""
    between = bounds(decision_id)
    if between is None:
        return ()
    found = await connection.execute(
        sa.select(ai_decisions).where(
            ai_decisions.c.created_at.between(*between), ai_decisions.c.id == decision_id
        )
    )
    given = found.mappings().first()
    if given is None or not given["message_text"]:
        return ()
    rows = (await connection.execute(_near(given, limit))).mappings()
    return tuple(_similar(row) for row in rows)


def _near(given: sa.RowMapping, limit: int) -> sa.Select[Any]:
    columns, at = ai_decisions.c, given["created_at"]
    rule = given["matched_rule"]
    same = [
        columns.user_id == given["user_id"],
        columns.matched_rule == rule if rule else columns.reason_code == given["reason_code"],
        columns.id != given["id"],
    ]
    wanted = [columns[name] for name in COLUMNS]
    half = COMPARED // 2
    before = (
        sa.select(*wanted, HOT_CATEGORIES)
        .where(*same, columns.created_at <= at, columns.created_at > at - AROUND)
        .order_by(columns.created_at.desc(), columns.id.desc())
        .limit(half)
    )
    after = (
        sa.select(*wanted, HOT_CATEGORIES)
        .where(*same, columns.created_at > at, columns.created_at < at + AROUND)
        .order_by(columns.created_at, columns.id)
        .limit(half)
    )
    around = sa.union_all(sa.select(before.subquery()), sa.select(after.subquery())).subquery()
    nearness = sa.func.similarity(around.c.message_text, given["message_text"]).label("nearness")
    return (
        sa.select(around, nearness, sa.func.coalesce(review_states.c.state, "open").label("state"))
        .join_from(around, review_states, review_states.c.decision_id == around.c.id, isouter=True)
        .where(nearness >= LEAST)
        .order_by(nearness.desc(), around.c.created_at.desc())
        .limit(limit)
    )


def _similar(found: sa.RowMapping) -> Similar:
    row = dict(found)
    return Similar(nearness=row.pop("nearness"), state=row.pop("state"), row=row)
