"""Which decisions figures are of, and the counted spans that they are summed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeAlias

import sqlalchemy as sa

from db.connection import Connection
from db.figures.hourly import DAY, Grain
from db.figures.spans import Covered, counted_spans, covering_spans, first_hour
from db.rows import all_rows

FigureRow: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFilter:
    """Which decisions are counted.

    Attributes:
        accounts: the accounts the person may see; None for all.
        since: a whole hour, UTC.
        step: length of one bar; whole hours, counted from ``since``.
        back: distance of the previous range; zero: none.
    """

    accounts: tuple[str, ...] | None
    account: str | None
    scope: str | None
    since: datetime
    until: datetime
    step: timedelta
    back: timedelta

    @property
    def users(self) -> list[str]:
        """The accounts whose figures are summed; the empty name means all."""
        if self.account is not None:
            return [self.account] if self.accounts is None or self.account in self.accounts else []
        return [""] if self.accounts is None else list(self.accounts)

    @property
    def chosen(self) -> list[str] | None:
        """The accounts, None: all."""
        return None if self.users == [""] else self.users

    @property
    def grain(self) -> Grain:
        """The longest spans that its steps consist of."""
        midnight = self.since.astimezone(UTC) == hour_of(self.since.astimezone(UTC)).replace(hour=0)
        return Grain.DAY if midnight and self.step % DAY == timedelta(0) else Grain.HOUR

    def newest(self, now: datetime) -> datetime:
        """The step that contains ``now``."""
        return self.since + (now - self.since) // self.step * self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The counted spans that a filter needs: by its steps and in whole days, now and before."""

    steps: Covered
    whole: Covered
    before: Covered
    week: Covered


async def load_reach(connection: Connection, filters: FigureFilter, now: datetime) -> Reach:
    """The counted spans of a filter."""
    since, until, back = filters.since, filters.until, filters.back
    week = min(until - 6 * DAY, since).replace(hour=0, minute=0, second=0, microsecond=0)
    earliest = min(week, since - back)
    spans, first = await counted_spans(connection, earliest, until), await first_hour(connection)
    return Reach(
        steps=covering_spans(spans, since, until, filters.grain, first),
        whole=covering_spans(spans, since, until, Grain.DAY, first),
        before=covering_spans(spans, since - back, min(until, hour_of(now)) - back, Grain.DAY, first),
        week=covering_spans(spans, week, until, Grain.DAY, first),
    )


async def counted_rows(
    connection: Connection,
    statement: sa.TextClause,
    filters: FigureFilter,
    covered: Covered,
    **more: object,
) -> tuple[FigureRow, ...]:
    """The rows of a statement over counted spans."""
    return await all_rows(connection, statement, statement_values(statement, filters, covered, more))


def statement_values(
    statement: sa.TextClause, filters: FigureFilter, covered: Covered, more: Mapping[str, object]
) -> FigureRow:
    """The parameters of a statement over counted spans; ``more`` has those that the filter has not."""
    values: FigureRow = {
        "users": filters.users,
        "scope": filters.scope,
        "hours": covered.hours,
        "days": covered.days,
        "step": filters.step,
        "since": filters.since,
    } | dict(more)
    return {name: values[name] for name in _parameters(statement)}


@cache
def _parameters(statement: sa.TextClause) -> tuple[str, ...]:
    """The parameters of a statement; cached, because compiling takes longer than most statements."""
    return tuple(statement.compile().params)


def hour_of(moment: datetime) -> datetime:
    """The start of its hour."""
    return moment.replace(minute=0, second=0, microsecond=0)
