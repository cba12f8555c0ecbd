"""Partitions and retention, through database functions that the worker's role may call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from db.pool import Pool, checkout


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimits:
    """The limits of retention; None keeps rows for ever."""

    now: datetime
    keys_before: datetime | None
    decisions_before: date | None


async def ensure_partitions(source: Pool, today: date) -> int:
    """Create the partitions of this month and the next three; how many were missing."""
    async with checkout(source) as connection:
        row = await (
            await connection.execute("SELECT hushgate_ensure_partitions(%s, 3)", (today,))
        ).fetchone()
    return int(row[0]) if row else 0


async def sweep_expired(source: Pool, limits: RetentionLimits) -> dict[str, int]:
    """Delete by age; the number of deleted rows, or of dropped partitions of ``ai_decisions``, by table."""
    deleted = {}
    async with checkout(source) as connection:
        row = await (
            await connection.execute("SELECT hushgate_sweep_quarantine(%s)", (limits.now,))
        ).fetchone()
        deleted["quarantine"] = int(row[0]) if row else 0
        if limits.keys_before is not None:
            for table in ("event_keys", "duplicates", "dead_letters"):
                cursor = await connection.execute(
                    "SELECT hushgate_sweep_before(%s, %s)", (table, limits.keys_before)
                )
                row = await cursor.fetchone()
                deleted[table] = int(row[0]) if row else 0
        if limits.decisions_before is not None:
            cursor = await connection.execute(
                "SELECT hushgate_drop_partitions(%s)", (limits.decisions_before,)
            )
            row = await cursor.fetchone()
            deleted["ai_decisions"] = int(row[0]) if row else 0
    return deleted
