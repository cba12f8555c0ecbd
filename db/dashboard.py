"""Reading the figures: what was decided in a range, in steps of time, and in the range before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db import figure_queries as queries
from db.histograms import Kind
from db.hourly import DAY, HOUR, Grain
from worker.policy import ERROR_CLASS, ErrorClass, Reason

Row: TypeAlias = dict[str, Any]
_Spans: TypeAlias = tuple[tuple[str, datetime, datetime], ...]

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
    spreads: tuple[Row, ...]
    paces: tuple[Row, ...]
    before: tuple[Row, ...]
    before_spreads: tuple[Row, ...]
    days: tuple[Row, ...]
    missing: int
    missing_before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Covered:
    """Which counted spans make up a range, and until when."""

    days: list[datetime]
    hours: list[datetime]
    counted_to: datetime
    missing: int


async def figures(connection: AsyncConnection, question: Question, *, now: datetime) -> Figures:
    """The figures of a range and of the one before it."""
    since, until, back = question.since, question.until, question.back
    first = (await connection.execute(queries.FIRST)).scalar()
    week = min(until - 6 * DAY, since).replace(hour=0, minute=0, second=0, microsecond=0)
    spans = await _spans(connection, min(week, since - back), until)
    covered = _covered(spans, since, until, question.grain, first)
    whole = _covered(spans, since, until, Grain.DAY, first)
    before = _covered(spans, since - back, min(until, _hour(now)) - back, Grain.DAY, first)
    days = _covered(spans, week, until, Grain.DAY, first)
    live = await _live(connection, question, covered, now)
    return Figures(
        counts=await _rows(connection, queries.COUNTED, question, covered, open=_hour(now)) + live[0],
        spreads=await _rows(connection, queries.SPREAD, question, whole) + live[1],
        paces=await _rows(connection, queries.PACES, question, covered, **_columns(live[1], question, now)),
        before=await _rows(connection, queries.COUNTED, question, before, open=_hour(now), step=100 * back),
        before_spreads=await _rows(connection, queries.SPREAD, question, before),
        days=await _rows(connection, queries.BLOCKED_DAYS, question, days, reasons=list(BLOCKED))
        + tuple(
            row | {"day": _hour(now).replace(hour=0)} for row in live[0] if row["reason_code"] in BLOCKED
        ),
        missing=covered.missing,
        missing_before=before.missing,
    )


async def by_account(connection: AsyncConnection, question: Question, *, most: int = 20) -> tuple[Row, ...]:
    """The busiest accounts of the range, as far as they are counted."""
    spans = await _spans(connection, question.since, question.until)
    covered = _covered(spans, question.since, question.until, Grain.DAY, None)
    users = None if question.users == [""] else question.users
    values = {"most": most, "blocked": list(BLOCKED), "failed": list(FAILED)}
    return await _rows(connection, queries.ACCOUNTS, question, covered, users=users, **values)


async def _rows(
    connection: AsyncConnection,
    statement: sa.TextClause,
    question: Question,
    covered: _Covered,
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
    return tuple(dict(row) for row in result.mappings())


@cache
def _parameters(statement: sa.TextClause) -> tuple[str, ...]:
    """What a statement asks for; compiled once, as that takes longer than most of them."""
    return tuple(statement.compile().params)


async def _spans(connection: AsyncConnection, since: datetime, until: datetime) -> _Spans:
    """What has been counted, from the day of ``since`` on."""
    values = {"day": since.replace(hour=0), "until": until}
    return tuple(
        (row.grain, row.start, row.counted_to) for row in await connection.execute(queries.SPANS, values)
    )


def _covered(
    spans: _Spans, since: datetime, until: datetime, longest: Grain, first: datetime | None
) -> _Covered:
    """Hours, or whole days where they are counted; ``first`` is the hour in which the audit begins.

    Days whose hours are swept are taken whole where hours are wanted, too: see ``db.hourly.sweep_next``.
    """
    hours, counted_to = [], since
    days = {start for grain, start, _ in spans if grain == "day" and since <= start <= until - DAY}
    if longest is Grain.HOUR:
        days -= {start.astimezone(UTC).replace(hour=0) for grain, start, _ in spans if grain == "hour"}
    for grain, start, reached in spans:
        if grain == "hour" and since <= start < until:
            counted_to = max(counted_to, reached)
            if start.astimezone(UTC).replace(hour=0) not in days:
                hours.append(start)
    begin = until if first is None else max(since, first)
    wanted = max(0, -((begin - until) // HOUR))
    have = len({start for start in hours if start >= begin})
    have += sum(24 if each >= begin else max(0, 24 - (begin - each) // HOUR) for each in days)
    return _Covered(days=sorted(days), hours=hours, counted_to=counted_to, missing=max(0, wanted - have))


async def _live(
    connection: AsyncConnection, question: Question, covered: _Covered, now: datetime
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """What came after the last count, an hour and a bit at most: the rows of the newest step."""
    since = max(covered.counted_to, _hour(now) - HOUR)
    if question.until < now or not question.users or since >= question.until:
        return (), ()
    users = None if question.users == [""] else question.users
    values = {"since": since, "until": question.until, "accounts": users}
    counts = (await connection.execute(queries.LIVE_COUNTS, values)).mappings()
    spreads = (await connection.execute(queries.LIVE_SPREADS, values)).mappings()
    newest, scopes = question.newest(now), (question.scope or "chat", question.scope or "comment")
    return (
        tuple(
            dict(row) | {"step": newest, "open": True}
            for row in counts
            if row["user_id"] == "" and row["scope"] in scopes
        ),
        tuple(
            {**row, "bin": number, "events": events}
            for row in spreads
            if row["user_id"] == "" and row["scope"] in scopes
            for number, events in zip(row["bins"], row["counts"], strict=True)
        ),
    )


def _columns(live: tuple[Row, ...], question: Question, now: datetime) -> Row:
    """What is not counted yet, as a statement takes it."""
    timed = [row for row in live if row["kind"] in (Kind.TOTAL, Kind.WAITING)]
    names = {"kinds": "kind", "bins": "bin", "events": "events"}
    return {"newest": question.newest(now)} | {
        parameter: [row[name] for row in timed] for parameter, name in names.items()
    }


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
