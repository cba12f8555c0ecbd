"""The sweep: table after table, in small steps with pauses, until nothing is due or the time is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

import structlog

from db.pool import Pool
from db.retention.declared import RETENTION
from db.retention.kept import TableRetention
from db.retention.limits import load_limits
from db.retention.steps import StepResult, drop_months, sweep_step
from db.webhooks.deliveries import unblock_conversations
from worker.errors import StorageUnavailable, is_outage
from worker.settings.retention import RetentionSettings

log = structlog.get_logger(__name__)

ROWS: Final = 500
"""Rows of a step: one transaction of some 10 ms."""
PAUSE_SHARE: Final = 9.0
"""Pause after a step as a multiple of its time: the sweep uses a tenth of one connection."""
LEAST_PAUSE_S: Final = 0.01
LONGEST_S: Final = 3000.0
"""A sweep ends after that; the next one, an hour after its start, continues."""
REPORT_S: Final = 10.0
CLOCKS: Final = timedelta(minutes=1)
"""How far this process' clock may be ahead of the database's, which compares."""
SLACK: Final = timedelta(hours=1)
LOCKED: Final = "LockNotAvailable"
DROPPED: Final = "ai_decisions_months"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPace:
    """How fast a sweep goes.

    Attributes:
        pause: waits so many seconds.
        deleted: called with the table and its rows after every step that deleted some.
    """

    rows: int = ROWS
    pause_share: float = PAUSE_SHARE
    longest_s: float = LONGEST_S
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    deleted: Callable[[str, int], None] = field(default=lambda _table, _rows: None)


@dataclass(slots=True)
class _Progress:
    table: str
    ends_at: float
    deleted: int = 0
    after: str | None = None
    rows: int = ROWS
    reported_at: float = 0.0

    def take(self, step: StepResult) -> None:
        """Go on behind the last row; look at more when all rows of one time are kept."""
        stuck = step.last == self.after and step.deleted == 0
        self.rows = self.rows * 2 if stuck else self.rows
        self.deleted += step.deleted
        self.after = step.last if step.last is not None else self.after

    def report(self) -> None:
        """One line every ten seconds."""
        if monotonic() - self.reported_at > REPORT_S:
            self.reported_at = monotonic()
            log.info("retention_progress", table=self.table, deleted=self.deleted)


async def sweep(
    source: Pool,
    settings: RetentionSettings,
    now: datetime,
    *,
    pace: SweepPace | None = None,
    only: Collection[str] = (),
) -> dict[str, int]:
    """Delete what is due, by table; months of the audit are counted as ``ai_decisions_months``.

    A step that finds a row locked ends its table until the next sweep. An error of one table is raised after
    the tables behind it.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    pace = pace or SweepPace()
    ends_at = monotonic() + pace.longest_s
    deleted: dict[str, int] = {}
    failed: Exception | None = None
    stored = await load_limits(source)
    for table in RETENTION:
        if (only and table.table not in only) or monotonic() > ends_at:
            continue
        before = _allowed(table, table.limit(settings, now), stored, now)
        if before is None:
            continue
        try:
            deleted |= await _sweep_table(source, table, before, pace, ends_at)
        except Exception as error:
            if is_outage(error):
                raise
            failed = failed or error
    await unblock_conversations(source, now)
    if failed is not None:
        raise failed
    return deleted


def _allowed(
    table: TableRetention, before: datetime | None, stored: Mapping[str, int | None], now: datetime
) -> datetime | None:
    """``before``, or what the stored limit allows where the settings of this process are shorter."""
    if before is None or table.table not in stored:
        return before
    days = stored[table.table]
    latest = None if days is None else now - timedelta(days=days) - CLOCKS
    if latest is None or before > latest + SLACK:
        log.warning("retention_shorter_than_stored", table=table.table, stored_days=days)
    return None if latest is None else min(before, latest)


async def _sweep_table(
    source: Pool, table: TableRetention, before: datetime, pace: SweepPace, ends_at: float
) -> dict[str, int]:
    progress = _Progress(table=table.table, ends_at=ends_at, rows=pace.rows, reported_at=monotonic())
    months: dict[str, int] = {}
    try:
        if table.table == "ai_decisions":
            months[DROPPED] = await drop_months(source, before.date())
        await _steps(source, before, pace, progress)
    except StorageUnavailable as error:
        if error.kind != LOCKED:
            raise
        log.warning("retention_postponed", table=table.table, deleted=progress.deleted)
    return months | {table.table: progress.deleted}


async def _steps(source: Pool, before: datetime, pace: SweepPace, progress: _Progress) -> None:
    while monotonic() < progress.ends_at:
        started = monotonic()
        step = await sweep_step(source, progress.table, before, progress.after, progress.rows)
        progress.take(step)
        if step.deleted:
            pace.deleted(progress.table, step.deleted)
        if step.finished:
            return
        progress.report()
        await pace.pause(max(LEAST_PAUSE_S, (monotonic() - started) * pace.pause_share))
