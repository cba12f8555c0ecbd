"""One step of retention: a bounded number of rows in one short transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from db.pool import Pool, fetch_dicts, fetch_value

STEP: Final = "SELECT * FROM hushgate_sweep_rows(%s, %s, %s, %s)"
DUE: Final = "SELECT * FROM hushgate_retention_due(%s, %s, %s)"
DROP: Final = "SELECT hushgate_drop_partitions(%s)"
MOST_COUNTED: Final = 100_001
"""Rows that ``rows_due`` counts at most: a person needs to know whether many are due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What one step did.

    Attributes:
        last: where the next step starts.
        finished: no later row can be due.
    """

    deleted: int
    seen: int
    last: str | None
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsDue:
    """What a sweep would do with a table.

    Attributes:
        due: rows that it would delete, counted up to ``MOST_COUNTED`` with the held ones.
        held: rows that are old enough and under a legal hold.
        oldest: time of the oldest row.
    """

    due: int
    held: int
    oldest: datetime | None


async def sweep_step(source: Pool, table: str, before: datetime, after: str | None, most: int) -> StepResult:
    """Look at the next ``most`` rows and delete those that are due.

    Raises:
        StorageUnavailable: safe to repeat; kind ``LockNotAvailable``: another transaction holds a row.
    """
    (row,) = await fetch_dicts(source, STEP, (table, before, after, most))
    return StepResult(**row)


async def drop_months(source: Pool, before: date) -> int:
    """Drop the audit's months that ended before a day and have no held row; how many.

    Raises:
        StorageUnavailable: as ``sweep_step``.
    """
    return int(await fetch_value(source, DROP, (before,)))


async def rows_due(source: Pool, table: str, before: datetime) -> RowsDue:
    """What a sweep would delete from a table now."""
    row: dict[str, Any]
    (row,) = await fetch_dicts(source, DUE, (table, before, MOST_COUNTED))
    return RowsDue(**row)
