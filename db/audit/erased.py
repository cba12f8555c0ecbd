"""Traces of a decision that is no longer stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.identifiers import NEAR, uuid_time_bounds

_OWNER: Final = sa.text("""
    SELECT coalesce(
        (SELECT user_id FROM review_states WHERE decision_id = :id),
        (SELECT user_id FROM decision_reviews WHERE decision_id = :id LIMIT 1),
        (SELECT user_id FROM event_keys WHERE created_at BETWEEN :since AND :until AND decision_id = :id),
        (SELECT user_id FROM access_log WHERE decision_id = :id AND user_id IS NOT NULL LIMIT 1)
    ) AS user_id,
    (SELECT count(*) FROM decision_reviews WHERE decision_id = :id AND ruling <> 'withdrawn') AS reviews,
    to_regclass('ai_decisions_' || :month) IS NULL AS month_dropped
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedDecision:
    """A decision that is no longer stored.

    Attributes:
        made_at: the time inside its id.
        reviews: number of its reviews, which are still stored.
        month_dropped: retention deleted its whole month; else only this decision was erased.
    """

    user_id: str
    made_at: datetime
    reviews: int
    month_dropped: bool


async def erased_decision(connection: Connection, decision_id: UUID) -> ErasedDecision | None:
    """What reviews, event keys and the access log hold about a decision; None without a trace."""
    near = uuid_time_bounds(decision_id)
    made_at = near[0] + NEAR
    values = {"id": decision_id, "since": near[0], "until": near[1], "month": f"{made_at:%Y_%m}"}
    row = (await connection.execute(_OWNER, values)).one()
    if row.user_id is None:
        return None
    return ErasedDecision(
        user_id=row.user_id, made_at=made_at, reviews=row.reviews, month_dropped=row.month_dropped
    )
