"""Figures of the dashboard: decisions of a range, in steps of time, and of the previous range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.figures import statements
from db.figures.histograms import LABEL, POLICY, POLICY_BINS, SpreadKind
from db.figures.hourly import DAY, HOUR, Grain
from db.figures.spans import Covered, counted_spans, covering_spans, first_audit_hour
from db.rows import all_rows
from worker.reasons import BLOCKED, FAILED

FigureRow: TypeAlias = dict[str, Any]
MOST_LINES: Final = 8
"""Labels of a range that have a line; the colours of more would look alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFilter:
    """Which decisions are counted.

    Attributes:
        accounts: the accounts the person may see; None for all.
        since: a whole hour, UTC.
        step: length of one bar; whole hours, counted from ``since``.
        back: distance of the previous range.
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
    def grain(self) -> Grain:
        """The longest spans that its steps consist of."""
        midnight = self.since.astimezone(UTC) == _hour(self.since.astimezone(UTC)).replace(hour=0)
        return Grain.DAY if midnight and self.step % DAY == timedelta(0) else Grain.HOUR

    def newest(self, now: datetime) -> datetime:
        """The step that contains ``now``."""
        return self.since + (now - self.since) // self.step * self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardFigures:
    """The figures; rows of ``counts`` have step, decision, reason_code and the sums of ``figure_counts``.

    Attributes:
        counts: of the range; ``open`` is true for the current hour.
        spreads: decision, kind, bin, events.
        paces: step, kind, p50, p95, p99 (numbers of bins): times of all decisions of a step.
        before: as ``counts`` without steps, for the same whole hours ``back`` earlier.
        trust: step, policy, events, confidence_sum: assessed drafts of a step by the design of their policy.
        labels: step, label, events, confidence_sum: labels with most assessed drafts, of chosen accounts.
        days: BLOCKED per UTC day, at least a week of them.
        missing: hours of the range that are not counted yet.
    """

    counts: tuple[FigureRow, ...]
    before: tuple[FigureRow, ...]
    missing: int
    missing_before: int
    spreads: tuple[FigureRow, ...] = ()
    paces: tuple[FigureRow, ...] = ()
    before_spreads: tuple[FigureRow, ...] = ()
    trust: tuple[FigureRow, ...] = ()
    labels: tuple[FigureRow, ...] = ()
    days: tuple[FigureRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The counted spans that a filter needs: by its steps and in whole days, now and before."""

    steps: Covered
    whole: Covered
    before: Covered
    week: Covered


async def load_totals(
    connection: AsyncConnection, filters: FigureFilter, *, now: datetime
) -> DashboardFigures:
    """The counts only, without times, confidence and days: half the statements of ``load_figures``."""
    reach = await load_reach(connection, filters, now)
    live = await _live(connection, statements.LIVE_COUNTS, filters, reach.steps, now)
    return await _totals(connection, filters, reach, live, now)


async def load_figures(
    connection: AsyncConnection, filters: FigureFilter, *, now: datetime
) -> DashboardFigures:
    """The figures of a range and of the previous one."""
    reach = await load_reach(connection, filters, now)
    live = await _live(connection, statements.LIVE_COUNTS, filters, reach.steps, now)
    live_spreads = tuple(
        {**row, "bin": number, "events": events}
        for row in await _live(connection, statements.LIVE_SPREADS, filters, reach.steps, now)
        for number, events in zip(row["bins"], row["counts"], strict=True)
    )
    timed = _columns(live_spreads, filters, now)
    today = {"day": _hour(now).replace(hour=0)}
    return replace(
        await _totals(connection, filters, reach, live, now),
        spreads=await _rows(connection, statements.SPREAD, filters, reach.whole) + live_spreads,
        paces=await _rows(connection, statements.PACES, filters, reach.steps, **timed),
        trust=await _rows(connection, statements.TRUST, filters, reach.steps)
        + tuple(_live_means(live_spreads, filters.newest(now), POLICY, "policy")),
        labels=await _labels(connection, filters, reach.steps, live_spreads, filters.newest(now)),
        before_spreads=await _rows(connection, statements.SPREAD, filters, reach.before),
        days=await _rows(connection, statements.BLOCKED_DAYS, filters, reach.week, reasons=list(BLOCKED))
        + tuple(row | today for row in live if row["reason_code"] in BLOCKED),
    )


async def load_reach(connection: AsyncConnection, filters: FigureFilter, now: datetime) -> Reach:
    """The counted spans of a filter."""
    since, until, back = filters.since, filters.until, filters.back
    week = min(until - 6 * DAY, since).replace(hour=0, minute=0, second=0, microsecond=0)
    first = await first_audit_hour(connection)
    spans = await counted_spans(connection, min(week, since - back), until)
    return Reach(
        steps=covering_spans(spans, since, until, filters.grain, first),
        whole=covering_spans(spans, since, until, Grain.DAY, first),
        before=covering_spans(spans, since - back, min(until, _hour(now)) - back, Grain.DAY, first),
        week=covering_spans(spans, week, until, Grain.DAY, first),
    )


async def _totals(
    connection: AsyncConnection,
    filters: FigureFilter,
    reach: Reach,
    live: tuple[FigureRow, ...],
    now: datetime,
) -> DashboardFigures:
    values = {"open": _hour(now)}
    newest = {"step": filters.newest(now), "open": True}
    before = {"step": 100 * filters.back}
    return DashboardFigures(
        counts=await _rows(connection, statements.COUNTED, filters, reach.steps, **values)
        + tuple(row | newest for row in live),
        before=await _rows(connection, statements.COUNTED, filters, reach.before, **(values | before)),
        missing=reach.steps.missing,
        missing_before=reach.before.missing,
    )


async def busiest_accounts(
    connection: AsyncConnection, filters: FigureFilter, *, most: int = 20
) -> tuple[FigureRow, ...]:
    """The busiest accounts of the range, by counted spans."""
    spans = await counted_spans(connection, filters.since, filters.until)
    covered = covering_spans(spans, filters.since, filters.until, Grain.DAY, None)
    users = None if filters.users == [""] else filters.users
    values = {"most": most, "blocked": list(BLOCKED), "failed": list(FAILED)}
    return await _rows(connection, statements.ACCOUNTS, filters, covered, users=users, **values)


async def _rows(
    connection: AsyncConnection,
    statement: sa.TextClause,
    filters: FigureFilter,
    covered: Covered,
    **more: object,
) -> tuple[FigureRow, ...]:
    values: FigureRow = {
        "users": filters.users,
        "scope": filters.scope,
        "hours": covered.hours,
        "days": covered.days,
        "step": filters.step,
        "since": filters.since,
    } | more
    return await all_rows(connection, statement, {name: values[name] for name in _parameters(statement)})


@cache
def _parameters(statement: sa.TextClause) -> tuple[str, ...]:
    """The parameters of a statement; cached, because compiling takes longer than most statements."""
    return tuple(statement.compile().params)


async def _live(
    connection: AsyncConnection,
    statement: sa.TextClause,
    filters: FigureFilter,
    covered: Covered,
    now: datetime,
) -> tuple[FigureRow, ...]:
    """Decisions since the last count, at most a little more than an hour, summed over the accounts."""
    since = max(covered.counted_to, _hour(now) - HOUR)
    if filters.until < now or not filters.users or since >= filters.until:
        return ()
    users = None if filters.users == [""] else filters.users
    values = {"since": since, "until": filters.until, "accounts": users}
    scopes = (filters.scope or "chat", filters.scope or "comment")
    found = await all_rows(connection, statement, values)
    return tuple(row for row in found if row["scope"] in scopes and _is_counted(row, users))


def _is_counted(row: FigureRow, users: Sequence[str] | None) -> bool:
    """Whether a row counts for these accounts; labels are counted of chosen accounts only."""
    return row["user_id"] == "" or (users is not None and str(row.get("kind", "")).startswith(LABEL))


async def _labels(
    connection: AsyncConnection,
    filters: FigureFilter,
    covered: Covered,
    live: Iterable[FigureRow],
    newest: datetime,
) -> tuple[FigureRow, ...]:
    """The labels with most assessed drafts, counted ones and those of the current hour."""
    counted = await _rows(connection, statements.LABELS, filters, covered, most=MOST_LINES)
    rows = (*counted, *_live_means(live, newest, LABEL, "label"))
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["label"]] += row["events"]
    shown = {label for label, _ in sums.most_common(MOST_LINES)}
    return tuple(row for row in rows if row["label"] in shown)


def _columns(live: tuple[FigureRow, ...], filters: FigureFilter, now: datetime) -> FigureRow:
    """Times that are not counted yet, as parameters of ``PACES``."""
    timed = [row for row in live if row["kind"] in (SpreadKind.TOTAL, SpreadKind.WAITING)]
    names = {"kinds": "kind", "bins": "bin", "events": "events"}
    return {"newest": filters.newest(now)} | {
        parameter: [row[name] for row in timed] for parameter, name in names.items()
    }


def _live_means(live: Iterable[FigureRow], newest: datetime, prefix: str, name: str) -> Iterator[FigureRow]:
    """Rows of ``trust`` or ``labels`` that are not counted yet."""
    for row in live:
        if row["kind"].startswith(prefix):
            total = row["events"] * (row["bin"] + 0.5) / POLICY_BINS
            value = row["kind"].removeprefix(prefix)
            yield {"step": newest, name: value, "events": row["events"], "confidence_sum": total}


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
