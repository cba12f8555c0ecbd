"""How long a person has been reviewing without a pause, and what; read for that person's own page only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

PAUSE: Final = timedelta(minutes=10)
"""Time without a review that counts as a break."""
BY_HAND: Final = "person_id = :person AND source IN ('page', 'queue', 'blind', 'golden')"
START: Final = sa.text(f"""
    SELECT max(created_at) FILTER (WHERE gap IS NULL OR gap > :pause) AS start, max(created_at) AS newest
    FROM (SELECT created_at, created_at - lag(created_at) OVER (ORDER BY created_at) AS gap
          FROM decision_reviews WHERE {BY_HAND} AND created_at > :since) AS reviews
""")
CATEGORY: Final = """
    CASE WHEN d.matched_rule LIKE 'flagged\\_%' THEN 'flagged_rule'
         WHEN d.matched_rule LIKE '%:%' THEN split_part(split_part(d.matched_rule, ':', 2), '/', 1)
         ELSE d.reason_code END
"""
"""What a decision ``d`` is about: its main moderation category, a word of the account, or its reason."""
RECENT: Final = sa.text(f"""
    SELECT {CATEGORY} FROM (
        SELECT decision_id, decision_at FROM decision_reviews
        WHERE {BY_HAND} AND ruling <> 'withdrawn' AND created_at > :since
        ORDER BY created_at DESC LIMIT :most
    ) AS r JOIN ai_decisions d ON d.created_at = r.decision_at AND d.id = r.decision_id
""")


async def streak_start(
    connection: AsyncConnection, person_id: UUID, *, now: datetime, at_least: timedelta
) -> datetime | None:
    """When the person began to review without a pause; None when less than ``at_least`` ago, or not now.

    Nothing before ``at_least`` and one pause is read, so a longer time is given as that.
    """
    values = {"person": person_id, "since": now - at_least - PAUSE, "pause": PAUSE}
    found = (await connection.execute(START, values)).one()
    if found.newest is None or now - found.newest > PAUSE or now - found.start < at_least:
        return None
    started: datetime = found.start
    return started


async def recent_categories(
    connection: AsyncConnection, person_id: UUID, *, most: int, now: datetime
) -> Sequence[str]:
    """The categories of the person's newest reviews of the last day."""
    values = {"person": person_id, "most": most, "since": now - timedelta(days=1)}
    return tuple((await connection.execute(RECENT, values)).scalars())
