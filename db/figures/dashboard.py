"""Figures of the dashboard: decisions of a range, in steps of time, and of the previous range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from db.connection import Connection, round_of_reads
from db.figures import figure_sql
from db.figures.answers import answered_counts
from db.figures.histograms import LABEL, POLICY, POLICY_BINS, SpreadKind
from db.figures.hourly import HOUR, Grain
from db.figures.reach import (
    FigureFilter,
    FigureRow,
    Reach,
    counted_rows,
    hour_of,
    load_reach,
    statement_values,
)
from db.figures.spans import Covered, counted_spans, covering_spans
from db.rows import all_rows
from worker.reasons import BLOCKED, FAILED

MOST_LINES: Final = 8
"""Labels of a range that have a line; the colours of more would look alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardFigures:
    """The figures; rows of ``counts`` have step, decision, reason_code and the sums of ``figure_counts``.

    Attributes:
        counts: of the range; ``open`` is true for the current hour.
        spreads: decision, kind, bin, events.
        paces: step, kind, p50, p95, p99 (numbers of bins): times of all decisions of a step.
        before: as ``counts`` without steps, for the same whole hours ``back`` earlier.
        answered: decisions that people answered, as ``db.figures.answers.answered_counts``.
        answered_before: like ``answered``, of the range before.
        trust: step, policy, events, confidence_sum: assessed drafts of a step by the design of their policy.
        labels: step, label, events, confidence_sum: labels with most assessed drafts, of chosen accounts.
        days: BLOCKED per UTC day, at least a week of them.
        missing: hours of the range that are not counted yet.
    """

    counts: tuple[FigureRow, ...]
    before: tuple[FigureRow, ...]
    missing: int
    missing_before: int
    answered: tuple[FigureRow, ...] = ()
    answered_before: tuple[FigureRow, ...] = ()
    spreads: tuple[FigureRow, ...] = ()
    paces: tuple[FigureRow, ...] = ()
    before_spreads: tuple[FigureRow, ...] = ()
    trust: tuple[FigureRow, ...] = ()
    labels: tuple[FigureRow, ...] = ()
    days: tuple[FigureRow, ...] = ()


async def load_totals(connection: Connection, filters: FigureFilter, *, now: datetime) -> DashboardFigures:
    """The counts only, without times, confidence and days: half the statements of ``load_figures``."""
    reach = await load_reach(connection, filters, now)
    live = await _live(connection, figure_sql.LIVE_COUNTS, filters, reach.steps, now)
    return await _totals(connection, filters, reach, live, now)


async def load_figures(connection: Connection, filters: FigureFilter, *, now: datetime) -> DashboardFigures:
    """The figures of a range and of the previous one."""
    reach = await load_reach(connection, filters, now)
    live = await _live(connection, figure_sql.LIVE_COUNTS, filters, reach.steps, now)
    live_spreads = tuple(
        {**row, "bin": number, "events": events}
        for row in await _live(connection, figure_sql.LIVE_SPREADS, filters, reach.steps, now)
        for number, events in zip(row["bins"], row["counts"], strict=True)
    )
    today = {"day": hour_of(now).replace(hour=0)}
    return replace(
        await _totals(connection, filters, reach, live, now),
        spreads=await counted_rows(connection, figure_sql.SPREAD, filters, reach.whole) + live_spreads,
        paces=await _paces(connection, reach, filters, live_spreads, now),
        trust=await counted_rows(connection, figure_sql.TRUST, filters, reach.steps)
        + tuple(_live_means(live_spreads, filters.newest(now), POLICY, "policy")),
        labels=await _labels(connection, filters, reach.steps, live_spreads, filters.newest(now)),
        before_spreads=await counted_rows(connection, figure_sql.SPREAD, filters, reach.before),
        days=await counted_rows(
            connection, figure_sql.BLOCKED_DAYS, filters, reach.week, reasons=list(BLOCKED)
        )
        + tuple(row | today for row in live if row["reason_code"] in BLOCKED),
    )


async def _totals(
    connection: Connection, filters: FigureFilter, reach: Reach, live: tuple[FigureRow, ...], now: datetime
) -> DashboardFigures:
    """The counts; those of the range before only where ``filters.back`` says which one."""
    values: FigureRow = {"open": hour_of(now)}
    newest: FigureRow = {"step": filters.newest(now), "open": True}
    in_one: FigureRow = values | {"step": 100 * filters.back}
    async with round_of_reads(connection) as reads:
        counts = reads.read(counted_rows(connection, figure_sql.COUNTED, filters, reach.steps, **values))
        answered = reads.read(answered_counts(connection, filters, back=timedelta(), now=now))
        if filters.back:
            before = reads.read(counted_rows(connection, figure_sql.COUNTED, filters, reach.before, **in_one))
            answered_before = reads.read(answered_counts(connection, filters, back=filters.back, now=now))
    return DashboardFigures(
        counts=counts.result() + tuple(row | newest for row in live),
        before=before.result() if filters.back else (),
        missing=reach.steps.missing,
        missing_before=reach.before.missing,
        answered=answered.result(),
        answered_before=answered_before.result() if filters.back else (),
    )


async def busiest_accounts(
    connection: Connection, filters: FigureFilter, *, most: int = 20
) -> tuple[FigureRow, ...]:
    """The busiest accounts of the range, by counted spans."""
    spans = await counted_spans(connection, filters.since, filters.until)
    covered = covering_spans(spans, filters.since, filters.until, Grain.DAY, None)
    values = {"users": filters.chosen, "most": most, "blocked": list(BLOCKED), "failed": list(FAILED)}
    return await counted_rows(connection, figure_sql.ACCOUNTS, filters, covered, **values)


async def _paces(
    connection: Connection, reach: Reach, filters: FigureFilter, live: tuple[FigureRow, ...], now: datetime
) -> tuple[FigureRow, ...]:
    """Percentiles by step; those of the newest step, which is still counted, are read each time."""
    newest, steps = filters.newest(now), reach.steps
    closed, last = (
        replace(
            steps,
            hours=[each for each in steps.hours if (each < newest) is before],
            days=[each for each in steps.days if (each < newest) is before],
        )
        for before in (True, False)
    )
    values = statement_values(figure_sql.PACES, filters, last, _columns(live, filters, now))
    rows = await counted_rows(connection, figure_sql.PACES, filters, closed, **_columns((), filters, now))
    if not (last.hours or last.days or live):
        return rows
    return rows + await all_rows(connection, figure_sql.PACES, values)


async def _live(
    connection: Connection,
    statement: sa.TextClause,
    filters: FigureFilter,
    covered: Covered,
    now: datetime,
) -> tuple[FigureRow, ...]:
    """Decisions since the last count, at most a little more than an hour, summed over the accounts."""
    since = max(covered.counted_to, hour_of(now) - HOUR)
    if filters.until < now or not filters.users or since >= filters.until:
        return ()
    users = filters.chosen
    values = {"since": since, "until": filters.until, "accounts": users}
    scopes = (filters.scope or "chat", filters.scope or "comment")
    found = await all_rows(connection, statement, values)
    return tuple(row for row in found if row["scope"] in scopes and _is_counted(row, users))


def _is_counted(row: FigureRow, users: Sequence[str] | None) -> bool:
    """Whether a row counts for these accounts; labels are counted of chosen accounts only."""
    return row["user_id"] == "" or (users is not None and str(row.get("kind", "")).startswith(LABEL))


async def _labels(
    connection: Connection,
    filters: FigureFilter,
    covered: Covered,
    live: Iterable[FigureRow],
    newest: datetime,
) -> tuple[FigureRow, ...]:
    """The labels with most assessed drafts, counted ones and those of the current hour."""
    counted = await counted_rows(connection, figure_sql.LABELS, filters, covered, most=MOST_LINES)
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
