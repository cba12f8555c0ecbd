"""Decisions of the last minutes beside the decisions of the same hour on the days before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from db.connection import Connection
from db.rows import rows_as

RECENT: Final = timedelta(minutes=15)
"""The minutes that are judged."""
PAST_DAYS: Final = 7
PAST_SPAN: Final = timedelta(hours=1)
"""Length of the span of each past day, around the same time."""
AHEAD: Final = (PAST_SPAN - RECENT) / 2
"""How far each past span reaches beyond the same time of its day."""

COUNTS: Final = sa.text("""
    WITH spans AS (
        SELECT true AS recent, CAST(:now AS timestamptz) - CAST(:recent AS interval) AS since,
               CAST(:now AS timestamptz) AS until
        UNION ALL
        SELECT false, same_time + CAST(:ahead AS interval) - CAST(:past AS interval),
               same_time + CAST(:ahead AS interval)
        FROM generate_series(1, :days) AS day,
             LATERAL (SELECT CAST(:now AS timestamptz) - day * interval '1 day' AS same_time) AS shifted
    )
    SELECT recent, user_id, reason_code, coalesce(matched_rule, '') AS matched_rule, count(*) AS events,
           count(*) FILTER (WHERE degraded) AS degraded
    FROM spans JOIN ai_decisions ON created_at >= since AND created_at < until
    GROUP BY recent, user_id, reason_code, coalesce(matched_rule, '')
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentCount:
    """Decisions of one kind.

    Attributes:
        recent: True in the last ``RECENT``; False in the past spans together.
        matched_rule: empty for decisions without one.
    """

    recent: bool
    user_id: str
    reason_code: str
    matched_rule: str
    events: int
    degraded: int


async def load_recent_counts(connection: Connection, now: datetime) -> tuple[RecentCount, ...]:
    """The counts now."""
    values = {"now": now, "recent": RECENT, "past": PAST_SPAN, "ahead": AHEAD, "days": PAST_DAYS}
    return await rows_as(connection, RecentCount, COUNTS, values)
