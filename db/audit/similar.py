"""Similar decisions: the same rule or reason on the same account, with similar text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.high_score_categories import HOT_CATEGORIES
from db.identifiers import uuid_time_bounds
from db.review_tables import review_states
from db.tables import ai_decisions

AROUND: Final = timedelta(days=30)
COMPARED: Final = 400
"""Texts compared with a decision's text, half older and half newer: about 10 ms for an audit of any size."""
LEAST: Final = 0.3
"""pg_trgm's default threshold: a third of the trigrams are shared."""
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
class SimilarDecision:
    """A decision that is similar to another.

    Attributes:
        row: its columns for lists, with ``hot_categories``.
        similarity: 0..1, share of common trigrams.
        state: of its reviews; ``open`` without any.
    """

    row: dict[str, Any]
    similarity: float
    state: str


async def similar_to(
    connection: AsyncConnection, decision_id: UUID, *, limit: int = 8
) -> tuple[SimilarDecision, ...]:
    """The most similar decisions within 30 days of one, without itself, most similar first."""
    between = uuid_time_bounds(decision_id)
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
    similarity = sa.func.similarity(around.c.message_text, given["message_text"]).label("similarity")
    return (
        sa.select(around, similarity, sa.func.coalesce(review_states.c.state, "open").label("state"))
        .join_from(around, review_states, review_states.c.decision_id == around.c.id, isouter=True)
        .where(similarity >= LEAST)
        .order_by(similarity.desc(), around.c.created_at.desc())
        .limit(limit)
    )


def _similar(found: sa.RowMapping) -> SimilarDecision:
    row = dict(found)
    return SimilarDecision(similarity=row.pop("similarity"), state=row.pop("state"), row=row)
