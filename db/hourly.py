"""Filling the figures: every hour of the audit is counted once, and the days from their hours.

Decisions are append-only, so what was counted stays right. A decision's time is that of its making, its row
comes with the commit a moment later: an hour is counted again some time after its end, see ``AGES``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.figure_sql import COLUMNS, COUNTS, SPREADS, SUMS, TOLD

LOCK: Final = 0x46494755  # "FIGU": one filler at a time per database
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
REFRESH: Final = timedelta(seconds=60)
"""How old the figures of the open hour may become before they are counted anew."""
LAG: Final = timedelta(seconds=10)
"""How long a commit usually takes at most: younger decisions are counted as they are read."""
AGES: Final = (HOUR + timedelta(minutes=10), HOUR * 3, HOUR * 25)
"""Time since an hour's start at which it is counted (again): ten minutes after its end a commit that is still
missing is rare, a day after it the last one has come, after an outage too."""

_LOCK: Final = sa.text("SELECT pg_try_advisory_xact_lock(:lock)")
_TIMEOUT: Final = sa.text("SELECT set_config('statement_timeout', :ms, true)")
_HOURS: Final = """
    WITH hours AS (
        SELECT hour, filled_at, (SELECT count(*) FROM unnest(CAST(:ages AS interval[])) AS age
                                 WHERE hour + age <= filled_at) AS times,
               (SELECT count(*) FROM unnest(CAST(:ages AS interval[])) AS age
                WHERE hour + age <= :now) AS wanted
        FROM generate_series(
            (SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions),
            date_trunc('hour', CAST(:now AS timestamptz), 'UTC'), '1 hour') AS hour
        LEFT JOIN figure_spans ON grain = 'hour' AND start = hour
    ), due AS (
        SELECT hour FROM hours
        WHERE filled_at IS NULL OR times < wanted OR (wanted = 0 AND filled_at < :stale)
    )
"""
_NEXT_HOUR: Final = sa.text(_HOURS + "SELECT hour FROM due ORDER BY hour DESC LIMIT 1")  # noqa: S608  # ours
_WAITING: Final = sa.text(_HOURS + "SELECT count(*) FROM due WHERE hour + interval '1 hour' <= :now")  # noqa: S608
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
    sa.text(f"DELETE FROM {table} WHERE grain = 'hour' AND start >= :day AND start < :end")  # noqa: S608  # ours
    for table in ("figure_counts", "figure_spreads", "figure_spans")
)
_COUNT_HOUR: Final = sa.text(f"""
    WITH {TOLD}, counts AS (
        INSERT INTO figure_counts (grain, start, {COLUMNS})
        SELECT 'hour', :since, counted.* FROM ({COUNTS}) AS counted
    ), spreads AS (
        INSERT INTO figure_spreads (grain, start, user_id, scope, decision, kind, bins, counts)
        SELECT 'hour', :since, counted.* FROM ({SPREADS}) AS counted
    )
    INSERT INTO figure_spans (grain, start, counted_to, events, filled_at)
    SELECT 'hour', :since, :until, count(*), :now FROM told RETURNING events
""")  # noqa: S608  # constants of ours
_COUNT_DAY: Final = (
    sa.text(f"""
        INSERT INTO figure_counts (grain, start, {COLUMNS})
        SELECT 'day', :day, user_id, scope, decision, reason_code, {SUMS} FROM figure_counts
        WHERE grain = 'hour' AND start >= :day AND start < :end GROUP BY user_id, scope, decision, reason_code
    """),  # noqa: S608  # constants of ours
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
        INSERT INTO figure_spans (grain, start, counted_to, events, filled_at)
        SELECT 'day', :day, :end, coalesce(sum(events), 0), :now FROM figure_spans
        WHERE grain = 'hour' AND start >= :day AND start < :end RETURNING events
    """),
)


class Grain(StrEnum):
    """How long a counted span is."""

    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """One span that was counted, with the decisions in it."""

    grain: Grain
    start: datetime
    events: int


async def fill_next(connection: AsyncConnection, *, now: datetime, most_s: float = 120.0) -> Filled | None:
    """Count the next span in this transaction, days before hours, newest first; None when none is due.

    None, too, while somebody else is filling. Call it until it gives None, each time in a transaction of its
    own; a statement that takes longer than ``most_s`` is cancelled by the server and raises.
    """
    await connection.execute(_TIMEOUT, {"ms": str(max(1, round(most_s * 1000)))})
    if not (await connection.execute(_LOCK, {"lock": LOCK})).scalar_one():
        return None
    if (day := (await connection.execute(_NEXT_DAY)).scalar()) is not None:
        return await _fill_day(connection, day, now)
    hour = (await connection.execute(_NEXT_HOUR, _due(now))).scalar()
    return None if hour is None else await _fill_hour(connection, hour, now)


async def sweep_next(connection: AsyncConnection) -> datetime | None:
    """Delete the hours of the oldest day whose decisions retention took; the day, or None when there is none.

    The day keeps its own row: one where the hours are two dozen. Hours are kept as long as their decisions:
    a range is cut into hours to get at these. A day that was never whole keeps them, having nothing else.
    """
    day: datetime | None = (await connection.execute(_OUTLIVED)).scalar()
    if day is not None:
        for statement in _SWEEP:
            await connection.execute(statement, {"day": day, "end": day + DAY})
    return day


async def waiting(connection: AsyncConnection, *, now: datetime) -> int:
    """How many closed hours are still to be counted."""
    return int((await connection.execute(_WAITING, _due(now))).scalar_one())


def _due(now: datetime) -> dict[str, Any]:
    return {"now": now, "stale": now - REFRESH, "ages": list(AGES)}


async def _fill_hour(connection: AsyncConnection, hour: datetime, now: datetime) -> Filled:
    """Count an hour up to now; the day it belongs to is counted again when it is closed."""
    day = hour.astimezone(UTC).replace(hour=0)
    for statement in _FORGET:
        await connection.execute(statement, {"hour": hour, "day": day})
    until = min(hour + HOUR, max(hour, now - LAG))
    values = {"since": hour, "until": until, "now": now, "accounts": None}
    events = (await connection.execute(_COUNT_HOUR, values)).scalar_one()
    return Filled(grain=Grain.HOUR, start=hour, events=int(events))


async def _fill_day(connection: AsyncConnection, day: datetime, now: datetime) -> Filled:
    values = {"day": day, "end": day + DAY, "now": now}
    results = [await connection.execute(statement, values) for statement in _COUNT_DAY]
    return Filled(grain=Grain.DAY, start=day, events=int(results[-1].scalar_one()))
