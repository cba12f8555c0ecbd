"""Filling the figures: each hour of the audit is counted, and each day is summed from its hours.

Decisions are append-only, so counts stay valid. A decision's row is committed a moment after its time, so
an hour is counted again some time after its end, see ``AGES``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from db.connection import Connection
from db.figures.figure_sql import COLUMNS, COUNTS, DECIDED, PARTS, SPREADS, SUMS

LOCK: Final = 0x46494755  # "FIGU": one filler at a time per database
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
REFRESH: Final = timedelta(seconds=60)
"""Greatest age of the figures of the current hour."""
LAG: Final = timedelta(seconds=10)
"""Usual upper limit of a commit's delay; younger decisions are counted when figures are read."""
AGES: Final = (HOUR + timedelta(minutes=10), HOUR * 3, HOUR * 25)
"""Time since an hour's start at which it is counted (again): ten minutes after its end few commits are
missing, a day after it none, even after an outage."""

_LOCK: Final = sa.text("SELECT pg_try_advisory_xact_lock(:lock)")
_TIMEOUT: Final = sa.text("SELECT set_config('statement_timeout', :ms, true)")
_HOURS: Final = """
    WITH hours AS (
        SELECT hour, filled_at, (SELECT count(*) FROM unnest(CAST(:ages AS interval[])) AS age
                                 WHERE hour + age <= filled_at) AS filled_times,
               (SELECT count(*) FROM unnest(CAST(:ages AS interval[])) AS age
                WHERE hour + age <= :now) AS due_times
        FROM generate_series(
            (SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions),
            date_trunc('hour', CAST(:now AS timestamptz), 'UTC'), '1 hour') AS hour
        LEFT JOIN figure_spans ON grain = 'hour' AND start = hour
    ), due AS (
        SELECT hour FROM hours
        WHERE filled_at IS NULL OR filled_times < due_times OR (due_times = 0 AND filled_at < :stale)
    )
"""
_NEXT_HOUR: Final = sa.text(_HOURS + "SELECT hour FROM due ORDER BY hour DESC LIMIT 1")
_NEXT_DAY: Final = sa.text("""
    SELECT date_trunc('day', start, 'UTC') AS day FROM figure_spans AS hours
    WHERE grain = 'hour' AND counted_to = start + interval '1 hour'
          AND NOT EXISTS (SELECT FROM figure_spans AS days
                          WHERE days.grain = 'day' AND days.start = date_trunc('day', hours.start, 'UTC'))
    GROUP BY day HAVING count(*) = 24 ORDER BY day DESC LIMIT 1
""")
_FORGET: Final = (
    sa.text("DELETE FROM figure_counts WHERE (grain, start) IN (('hour', :hour), ('day', :day))"),
    sa.text("DELETE FROM figure_spreads WHERE (grain, start) IN (('hour', :hour), ('day', :day))"),
    sa.text("DELETE FROM figure_parts WHERE (grain, start) IN (('hour', :hour), ('day', :day))"),
    sa.text("DELETE FROM figure_spans WHERE (grain, start) IN (('hour', :hour), ('day', :day))"),
)
_OUTLIVED: Final = sa.text("""
    SELECT date_trunc('day', min(start), 'UTC') FROM figure_spans AS hours
    WHERE grain = 'hour'
          AND start < (SELECT date_trunc('day', min(created_at), 'UTC') FROM ai_decisions)
          AND EXISTS (SELECT FROM figure_spans AS days
                      WHERE days.grain = 'day' AND days.start = date_trunc('day', hours.start, 'UTC'))
""")
_SWEEP: Final = tuple(
    sa.text(f"DELETE FROM {table} WHERE grain = 'hour' AND start >= :day AND start < :end")
    for table in ("figure_counts", "figure_spreads", "figure_parts", "figure_spans")
)
_COUNT_HOUR: Final = sa.text(f"""
    WITH {DECIDED}, counts AS (
        INSERT INTO figure_counts (grain, start, {COLUMNS})
        SELECT 'hour', :since, counted.* FROM ({COUNTS}) AS counted
    ), spreads AS (
        INSERT INTO figure_spreads (grain, start, user_id, scope, decision, kind, bins, counts)
        SELECT 'hour', :since, counted.* FROM ({SPREADS}) AS counted
    ), parts AS (
        INSERT INTO figure_parts (
            grain, start, user_id, scope, dimension, value, decision, reason_code, events)
        SELECT 'hour', :since, counted.* FROM ({PARTS}) AS counted
    )
    INSERT INTO figure_spans (grain, start, counted_to, events, filled_at)
    SELECT 'hour', :since, :until, count(*), :now FROM decided RETURNING events
""")
_COUNT_DAY: Final = (
    sa.text(f"""
        INSERT INTO figure_counts (grain, start, {COLUMNS})
        SELECT 'day', :day, user_id, scope, decision, reason_code, {SUMS} FROM figure_counts
        WHERE grain = 'hour' AND start >= :day AND start < :end GROUP BY user_id, scope, decision, reason_code
    """),
    sa.text("""
        INSERT INTO figure_spreads (grain, start, user_id, scope, decision, kind, bins, counts)
        SELECT 'day', :day, user_id, scope, decision, kind,
               array_agg(bin ORDER BY bin), array_agg(events ORDER BY bin)
        FROM (
            SELECT user_id, scope, decision, kind, bin, sum(each.events)::bigint AS events
            FROM figure_spreads, unnest(bins, counts) AS each (bin, events)
            WHERE grain = 'hour' AND start >= :day AND start < :end
            GROUP BY user_id, scope, decision, kind, bin
        ) AS binned GROUP BY user_id, scope, decision, kind
    """),
    sa.text("""
        INSERT INTO figure_parts (
            grain, start, user_id, scope, dimension, value, decision, reason_code, events)
        SELECT 'day', :day, user_id, scope, dimension, value, decision, reason_code, sum(events)::bigint
        FROM figure_parts WHERE grain = 'hour' AND start >= :day AND start < :end
        GROUP BY user_id, scope, dimension, value, decision, reason_code
    """),
    sa.text("""
        INSERT INTO figure_spans (grain, start, counted_to, events, filled_at)
        SELECT 'day', :day, :end, coalesce(sum(events), 0), :now FROM figure_spans
        WHERE grain = 'hour' AND start >= :day AND start < :end RETURNING events
    """),
)


class Grain(StrEnum):
    """The length of a counted span."""

    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledSpan:
    """A counted span and its number of decisions."""

    grain: Grain
    start: datetime
    events: int


async def fill_next(connection: Connection, *, now: datetime, most_s: float = 120.0) -> FilledSpan | None:
    """Count the next due span in this transaction, days before hours, newest first; None without a due span.

    Also None while another transaction is filling. Call it until it returns None, each time in its own
    transaction; the server cancels a statement that takes longer than ``most_s``, which raises.
    """
    await connection.execute(_TIMEOUT, {"ms": str(max(1, round(most_s * 1000)))})
    if not (await connection.execute(_LOCK, {"lock": LOCK})).scalar_one():
        return None
    if (day := (await connection.execute(_NEXT_DAY)).scalar()) is not None:
        values = {"day": day, "end": day + DAY, "now": now}
        results = [await connection.execute(statement, values) for statement in _COUNT_DAY]
        return FilledSpan(grain=Grain.DAY, start=day, events=int(results[-1].scalar_one()))
    hour = (await connection.execute(_NEXT_HOUR, _due(now))).scalar()
    return None if hour is None else await _fill_hour(connection, hour, now)


async def sweep_next(connection: Connection) -> datetime | None:
    """Delete the hours of the oldest day whose decisions retention deleted; the day, or None.

    The day's own row stays. Hours are kept as long as their decisions, for ranges that are cut into
    hours. A day that was never counted whole keeps its hours.
    """
    day: datetime | None = (await connection.execute(_OUTLIVED)).scalar()
    if day is not None:
        for statement in _SWEEP:
            await connection.execute(statement, {"day": day, "end": day + DAY})
    return day


def _due(now: datetime) -> dict[str, Any]:
    return {"now": now, "stale": now - REFRESH, "ages": list(AGES)}


async def _fill_hour(connection: Connection, hour: datetime, now: datetime) -> FilledSpan:
    """Count an hour up to now; its day is counted again when the hour is finished."""
    day = hour.astimezone(UTC).replace(hour=0)
    for statement in _FORGET:
        await connection.execute(statement, {"hour": hour, "day": day})
    until = min(hour + HOUR, max(hour, now - LAG))
    values = {"since": hour, "until": until, "now": now, "accounts": None}
    events = (await connection.execute(_COUNT_HOUR, values)).scalar_one()
    return FilledSpan(grain=Grain.HOUR, start=hour, events=int(events))
