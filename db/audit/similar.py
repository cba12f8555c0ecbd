"""Similar decisions: the same rule or reason on the same account, with similar text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.identifiers import uuid_time_bounds
from db.review_tables import review_states
from db.rows import Row, all_rows, first_row
from db.tables import HIGH_SCORE_CATEGORIES, ai_decisions

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
        similarity: 0..1, share of common trigrams.
        state: of its reviews; ``open`` without any.
    """

    row: dict[str, Any]
    similarity: float
    state: str


async def similar_to(
    connection: Connection, decision_id: UUID, *, limit: int = 8
) -> tuple[SimilarDecision, ...]:
    """The most similar decisions within 30 days of one, without itself, most similar first."""
    columns = ai_decisions.c
    here = (columns.created_at.between(*uuid_time_bounds(decision_id)), columns.id == decision_id)
    decision = await first_row(connection, sa.select(ai_decisions).where(*here))
    if decision is None or not decision["message_text"]:
        return ()
    return tuple(
        SimilarDecision(similarity=row.pop("similarity"), state=row.pop("state"), row=row)
        for row in await all_rows(connection, _near(decision, limit))
    )


def _near(decision: Row, limit: int) -> sa.Select[Any]:
    columns, at = ai_decisions.c, decision["created_at"]
    rule = decision["matched_rule"]
    same = [
        columns.user_id == decision["user_id"],
        columns.matched_rule == rule if rule else columns.reason_code == decision["reason_code"],
        columns.id != decision["id"],
    ]
    half = COMPARED // 2
    query = sa.select(*(columns[name] for name in COLUMNS), HIGH_SCORE_CATEGORIES).where(*same).limit(half)
    before = query.where(columns.created_at <= at, columns.created_at > at - AROUND)
    before = before.order_by(columns.created_at.desc(), columns.id.desc())
    after = query.where(columns.created_at > at, columns.created_at < at + AROUND)
    after = after.order_by(columns.created_at, columns.id)
    around = sa.union_all(sa.select(before.subquery()), sa.select(after.subquery())).subquery()
    similarity = sa.func.similarity(around.c.message_text, decision["message_text"]).label("similarity")
    return (
        sa.select(around, similarity, sa.func.coalesce(review_states.c.state, "open").label("state"))
        .join_from(around, review_states, review_states.c.decision_id == around.c.id, isouter=True)
        .where(similarity >= LEAST)
        .order_by(similarity.desc(), around.c.created_at.desc())
        .limit(limit)
    )
