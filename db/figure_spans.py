"""Which counted hours and days make up a range of time, and which of it nobody has counted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from db import figure_queries as queries
from db.hourly import DAY, HOUR, Grain


class Span(NamedTuple):
    """One row of ``figure_spans``, with the midnight that its day begins at; a month has 750 of them."""

    grain: str
    start: datetime
    counted_to: datetime
    midnight: datetime


Spans: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Which counted spans make up a range, and until when.

    Attributes:
        missing: hours that nobody has counted yet.
    """

    days: list[datetime]
    hours: list[datetime]
    counted_to: datetime
    missing: int


async def counted(connection: AsyncConnection, since: datetime, until: datetime) -> Spans:
    """What has been counted, from the day of ``since`` on."""
    values = {"day": since.replace(hour=0), "until": until}
    return tuple(
        Span(grain, start, reached, start.astimezone(UTC).replace(hour=0))
        for grain, start, reached in await connection.execute(queries.SPANS, values)
    )


async def first_hour(connection: AsyncConnection) -> datetime | None:
    """The hour in which the audit begins; None while it is empty."""
    first: datetime | None = (await connection.execute(queries.FIRST)).scalar()
    return first


def covering(
    spans: Spans, since: datetime, until: datetime, longest: Grain, first: datetime | None
) -> Covered:
    """Hours, or whole days where they are counted; ``first`` is the hour in which the audit begins.

    Days whose hours are swept are taken whole where hours are wanted, too: see ``db.hourly.sweep_next``.
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
    wanted = max(0, -((begin - until) // HOUR))
    have = len({start for start in hours if start >= begin})
    have += sum(24 if each >= begin else max(0, 24 - (begin - each) // HOUR) for each in days)
    return Covered(days=sorted(days), hours=hours, counted_to=counted_to, missing=max(0, wanted - have))
