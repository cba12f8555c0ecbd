"""What the change of a figure is made of: counts by account, rule, model and language, now and before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

import sqlalchemy as sa

from db.connection import Connection
from db.figures.reach import FigureFilter, hour_of, load_reach
from db.rows import Row, rows_as
from worker.model import DecisionKind
from worker.reasons import BLOCKED, FAILED


class Dimension(StrEnum):
    """What a change is divided by."""

    ACCOUNT = "account"
    RULE = "rule"
    REASON = "reason"
    MODEL = "model"
    LANGUAGE = "language"


class CountMeasure(StrEnum):
    """A count of decisions whose change is divided into parts; also the name in a summary of figures."""

    DECISIONS = "decisions"
    REPLIES = "replies"
    ESCALATED = "escalated"
    BLOCKED = "blocked"
    FAILED = "failed"


DECISIONS: Final = {
    CountMeasure.REPLIES: DecisionKind.RESPOND,
    CountMeasure.ESCALATED: DecisionKind.ESCALATE,
}
REASONS: Final = {CountMeasure.BLOCKED: sorted(BLOCKED), CountMeasure.FAILED: sorted(FAILED)}
PARTS_SHOWN: Final = 6
"""Largest contributions of a dimension, up or down."""

_SPANS: Final = """
    spans AS (
        SELECT grain, start, count(*) FILTER (WHERE is_now) AS times_now,
               count(*) FILTER (WHERE NOT is_now) AS times_before
        FROM (
            SELECT 'hour' AS grain, unnest(CAST(:hours AS timestamptz[])) AS start, true AS is_now
            UNION ALL SELECT 'day', unnest(CAST(:days AS timestamptz[])), true
            UNION ALL SELECT 'hour', unnest(CAST(:hours_before AS timestamptz[])), false
            UNION ALL SELECT 'day', unnest(CAST(:days_before AS timestamptz[])), false
        ) AS each GROUP BY grain, start
    )
"""
_SUMS: Final = "sum(events * times_now)::bigint AS now, sum(events * times_before)::bigint AS before"
_COUNTED: Final = """
    (CAST(:scope AS text) IS NULL OR scope = :scope)
    AND (CAST(:decision AS text) IS NULL OR decision = :decision)
    AND (CAST(:reasons AS text[]) IS NULL OR reason_code = ANY (:reasons))
"""
_PARTS: Final = sa.text(f"""
    WITH {_SPANS}, counted AS MATERIALIZED (  -- read once, for accounts and for reasons
        SELECT user_id, reason_code, {_SUMS} FROM spans JOIN figure_counts USING (grain, start)
        WHERE (CAST(:chosen AS text[]) IS NULL OR user_id = ANY (:chosen)) AND {_COUNTED}
        GROUP BY user_id, reason_code
    ), sums AS (
        SELECT 'account' AS dimension, user_id AS value, sum(now)::bigint AS now,
               sum(before)::bigint AS before
        FROM counted WHERE user_id <> '' GROUP BY user_id
        UNION ALL
        SELECT 'reason', reason_code, sum(now)::bigint, sum(before)::bigint
        FROM counted WHERE user_id = ANY (:users) GROUP BY reason_code
        UNION ALL
        SELECT dimension, value, {_SUMS} FROM spans JOIN figure_parts USING (grain, start)
        WHERE user_id = ANY (:users) AND {_COUNTED} GROUP BY dimension, value
    )
    SELECT dimension, value, now, before FROM (
        SELECT *, row_number() OVER (
            PARTITION BY dimension ORDER BY abs(now - before) DESC, now DESC, value) AS place
        FROM sums WHERE now <> before
    ) AS ranked WHERE place <= :most ORDER BY dimension, place
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCount:
    """One value of a dimension: its decisions in the whole hours of the range and of the range before."""

    dimension: Dimension
    value: str
    now: int
    before: int

    @property
    def change(self) -> int:
        """How many decisions more, or fewer."""
        return self.now - self.before


async def largest_parts(
    connection: Connection,
    filters: FigureFilter,
    measure: CountMeasure,
    *,
    now: datetime,
    most: int = PARTS_SHOWN,
) -> tuple[PartCount, ...]:
    """The values with the largest changes, of every dimension; the open hour is left out, as it is before."""
    reach = await load_reach(connection, filters, now)
    hours = [each for each in reach.whole.hours if each < hour_of(now)]
    values: Row = {
        "users": filters.users,
        "chosen": filters.chosen,
        "scope": filters.scope,
        "decision": DECISIONS.get(measure),
        "reasons": REASONS.get(measure),
        "hours": hours,
        "days": reach.whole.days,
        "hours_before": reach.before.hours,
        "days_before": reach.before.days,
        "most": most,
    }
    return await rows_as(connection, PartCount, _PARTS, values)
