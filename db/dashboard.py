"""Reading the figures: what was decided in a range, in steps of time, and in the range before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db import figure_queries as queries
from db.figure_spans import Covered, counted, covering, first_hour
from db.histograms import Kind
from db.hourly import DAY, HOUR, Grain
from worker.policy import ERROR_CLASS, ErrorClass, Reason

Row: TypeAlias = dict[str, Any]

BLOCKED: Final = (
    Reason.FLAGGED_RULE,
    Reason.MODERATION_FLAGGED,
    Reason.REPLY_FLAGGED_RULE,
    Reason.REPLY_MODERATION_FLAGGED,
)
"""A guardrail did its work: the message or the draft was flagged."""
FAILED: Final = (
    Reason.TOO_LATE,
    Reason.MODERATION_REJECTED,
    Reason.MODERATION_UNAVAILABLE,
    Reason.MODERATION_TIMED_OUT,
    Reason.REPLY_MODERATION_REJECTED,
    Reason.REPLY_MODERATION_UNAVAILABLE,
    Reason.REPLY_MODERATION_TIMED_OUT,
    *(reason for reason, found in ERROR_CLASS.items() if found is ErrorClass.LLM_ERROR),
)
"""Silent because something did not do its work, not because anybody chose it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which decisions are counted.

    Attributes:
        accounts: those the reader may see; None for all.
        account: one of them, or None for all of them.
        since: a whole hour, UTC.
        until: before this moment; ``now`` at the latest.
        step: length of one bar; whole hours, counted from ``since``.
        back: how far the range before lies back.
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
        """Whose figures are added up; the empty name stands for all accounts."""
        if self.account is not None:
            return [self.account] if self.accounts is None or self.account in self.accounts else []
        return [""] if self.accounts is None else list(self.accounts)

    @property
    def grain(self) -> Grain:
        """The longest spans that its steps are made of."""
        midnight = self.since.astimezone(UTC) == _hour(self.since.astimezone(UTC)).replace(hour=0)
        return Grain.DAY if midnight and self.step % DAY == timedelta(0) else Grain.HOUR

    def newest(self, now: datetime) -> datetime:
        """The step that the present belongs to."""
        return self.since + (now - self.since) // self.step * self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was found; rows of ``counts`` have step, decision, reason_code and the sums of ``figure_counts``.

    Attributes:
        counts: of the range; ``open`` marks what belongs to the hour that is not over.
        spreads: decision, kind, bin, events.
        paces: step, kind, p50, p95, p99 (numbers of bins): times of all decisions of a step.
        before: as ``counts``, without steps: the same whole hours, ``back`` earlier.
        before_spreads: as ``spreads``.
        days: BLOCKED per UTC day, at least a week of them.
        missing: hours of the range that nobody has counted yet.
        missing_before: the same of the range before.
    """

    counts: tuple[Row, ...]
    before: tuple[Row, ...]
    missing: int
    missing_before: int
    spreads: tuple[Row, ...] = ()
    paces: tuple[Row, ...] = ()
    before_spreads: tuple[Row, ...] = ()
    days: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reach:
    """The parts of the tables that answer a question: by its own steps and in whole days, now and before."""

    steps: Covered
    whole: Covered
    before: Covered
    week: Covered


async def totals(connection: AsyncConnection, question: Question, *, now: datetime) -> Figures:
    """The sums alone; times, confidence and days are empty. Half of the statements of ``figures``."""
    reach = await _reach(connection, question, now)
    live = await _live(connection, queries.LIVE_COUNTS, question, reach.steps, now)
    return await _totals(connection, question, reach, live, now)


async def figures(connection: AsyncConnection, question: Question, *, now: datetime) -> Figures:
    """The figures of a range and of the one before it."""
    reach = await _reach(connection, question, now)
    live = await _live(connection, queries.LIVE_COUNTS, question, reach.steps, now)
    live_spreads = tuple(
        {**row, "bin": number, "events": events}
        for row in await _live(connection, queries.LIVE_SPREADS, question, reach.steps, now)
        for number, events in zip(row["bins"], row["counts"], strict=True)
    )
    timed = _columns(live_spreads, question, now)
    today = {"day": _hour(now).replace(hour=0)}
    return replace(
        await _totals(connection, question, reach, live, now),
        spreads=await _rows(connection, queries.SPREAD, question, reach.whole) + live_spreads,
        paces=await _rows(connection, queries.PACES, question, reach.steps, **timed),
        before_spreads=await _rows(connection, queries.SPREAD, question, reach.before),
        days=await _rows(connection, queries.BLOCKED_DAYS, question, reach.week, reasons=list(BLOCKED))
        + tuple(row | today for row in live if row["reason_code"] in BLOCKED),
    )


async def _reach(connection: AsyncConnection, question: Question, now: datetime) -> _Reach:
    since, until, back = question.since, question.until, question.back
    week = min(until - 6 * DAY, since).replace(hour=0, minute=0, second=0, microsecond=0)
    first = await first_hour(connection)
    spans = await counted(connection, min(week, since - back), until)
    return _Reach(
        steps=covering(spans, since, until, question.grain, first),
        whole=covering(spans, since, until, Grain.DAY, first),
        before=covering(spans, since - back, min(until, _hour(now)) - back, Grain.DAY, first),
        week=covering(spans, week, until, Grain.DAY, first),
    )


async def _totals(
    connection: AsyncConnection, question: Question, reach: _Reach, live: tuple[Row, ...], now: datetime
) -> Figures:
    values = {"open": _hour(now)}
    newest = {"step": question.newest(now), "open": True}
    before = {"step": 100 * question.back}
    return Figures(
        counts=await _rows(connection, queries.COUNTED, question, reach.steps, **values)
        + tuple(row | newest for row in live),
        before=await _rows(connection, queries.COUNTED, question, reach.before, **(values | before)),
        missing=reach.steps.missing,
        missing_before=reach.before.missing,
    )


async def by_account(connection: AsyncConnection, question: Question, *, most: int = 20) -> tuple[Row, ...]:
    """The busiest accounts of the range, as far as they are counted."""
    spans = await counted(connection, question.since, question.until)
    covered = covering(spans, question.since, question.until, Grain.DAY, None)
    users = None if question.users == [""] else question.users
    values = {"most": most, "blocked": list(BLOCKED), "failed": list(FAILED)}
    return await _rows(connection, queries.ACCOUNTS, question, covered, users=users, **values)


async def _rows(
    connection: AsyncConnection,
    statement: sa.TextClause,
    question: Question,
    covered: Covered,
    **more: object,
) -> tuple[Row, ...]:
    values: Row = {
        "users": question.users,
        "scope": question.scope,
        "hours": covered.hours,
        "days": covered.days,
        "step": question.step,
        "since": question.since,
    } | more
    result = await connection.execute(statement, {name: values[name] for name in _parameters(statement)})
    names = tuple(result.keys())
    return tuple(dict(zip(names, row, strict=True)) for row in result)


@cache
def _parameters(statement: sa.TextClause) -> tuple[str, ...]:
    """What a statement asks for; compiled once, as that takes longer than most of them."""
    return tuple(statement.compile().params)


async def _live(
    connection: AsyncConnection,
    statement: sa.TextClause,
    question: Question,
    covered: Covered,
    now: datetime,
) -> tuple[Row, ...]:
    """What came after the last count, an hour and a bit at most, summed over the accounts."""
    since = max(covered.counted_to, _hour(now) - HOUR)
    if question.until < now or not question.users or since >= question.until:
        return ()
    users = None if question.users == [""] else question.users
    values = {"since": since, "until": question.until, "accounts": users}
    scopes = (question.scope or "chat", question.scope or "comment")
    found = (await connection.execute(statement, values)).mappings()
    return tuple(dict(row) for row in found if row["user_id"] == "" and row["scope"] in scopes)


def _columns(live: tuple[Row, ...], question: Question, now: datetime) -> Row:
    """What is not counted yet, as a statement takes it."""
    timed = [row for row in live if row["kind"] in (Kind.TOTAL, Kind.WAITING)]
    names = {"kinds": "kind", "bins": "bin", "events": "events"}
    return {"newest": question.newest(now)} | {
        parameter: [row[name] for row in timed] for parameter, name in names.items()
    }


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
