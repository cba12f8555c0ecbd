"""Which counted hours and days make up a range of time, and which hours are missing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

import sqlalchemy as sa

from db.connection import Connection
from db.figures import figure_sql
from db.figures.hourly import DAY, HOUR, Grain
from db.rows import all_rows

FIRST: Final = sa.text("SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions")


class FigureSpan(NamedTuple):
    """One row of ``figure_spans`` with the start of its day; a month has 750 rows."""

    grain: str
    start: datetime
    counted_to: datetime
    midnight: datetime


Spans: TypeAlias = tuple[FigureSpan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """The counted spans that make up a range, and the end of the counted time.

    Attributes:
        missing: number of hours that are not counted yet.
    """

    days: list[datetime]
    hours: list[datetime]
    counted_to: datetime
    missing: int


async def counted_spans(connection: Connection, since: datetime, until: datetime) -> Spans:
    """Counted spans from the day of ``since`` on."""
    values = {"day": since.replace(hour=0), "until": whole_hour(until)}
    return tuple(
        FigureSpan(**row, midnight=row["start"].astimezone(UTC).replace(hour=0))
        for row in await all_rows(connection, figure_sql.SPANS, values)
    )


async def first_hour(connection: Connection) -> datetime | None:
    """The hour of the oldest decision; None without decisions."""
    found: datetime | None = (await connection.execute(FIRST)).scalar_one()
    return found


def whole_hour(moment: datetime) -> datetime:
    """The moment, or the next whole hour: no span starts between."""
    floor = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return floor if floor == moment else floor + HOUR


def covering_spans(
    spans: Spans, since: datetime, until: datetime, longest: Grain, first: datetime | None
) -> Covered:
    """The spans of a range: whole days where they are counted, else hours; ``first``: the audit's first hour.

    A day whose hours were swept is used whole, see ``db.figures.hourly.sweep_next``.
    """
    hours, counted_to = [], since
    days = {span.start for span in spans if span.grain == "day" and since <= span.start <= until - DAY}
    if longest is Grain.HOUR:
        days -= {span.midnight for span in spans if span.grain == "hour"}
    for span in spans:
        if span.grain == "hour" and since <= span.start < until:
            counted_to = max(counted_to, span.counted_to)
            if span.midnight not in days:
                hours.append(span.start)
    begin = until if first is None else max(since, first)
    expected = max(0, -((begin - until) // HOUR))
    have = len({start for start in hours if start >= begin})
    have += sum(24 if each >= begin else max(0, 24 - (begin - each) // HOUR) for each in days)
    return Covered(days=sorted(days), hours=hours, counted_to=counted_to, missing=max(0, expected - have))
