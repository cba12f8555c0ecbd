"""Partitions and retention, through functions that the worker's role may call and nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from db.pool import Pool, checkout


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is past its time; None keeps for ever."""

    now: datetime
    keys_before: datetime | None
    decisions_before: date | None


async def ensure_partitions(source: Pool, today: date) -> int:
    """Make the partitions of this month and the next three; how many were missing."""
    async with checkout(source) as connection:
        row = await (
            await connection.execute("SELECT hushgate_ensure_partitions(%s, 3)", (today,))
        ).fetchone()
    return int(row[0]) if row else 0


async def sweep(source: Pool, limits: Limits) -> dict[str, int]:
    """Delete by age; rows, or partitions of ``ai_decisions``, by table."""
    gone = {}
    async with checkout(source) as connection:
        row = await (
            await connection.execute("SELECT hushgate_sweep_quarantine(%s)", (limits.now,))
        ).fetchone()
        gone["quarantine"] = int(row[0]) if row else 0
        if limits.keys_before is not None:
            for table in ("event_keys", "duplicates", "dead_letters"):
                cursor = await connection.execute(
                    "SELECT hushgate_sweep_before(%s, %s)", (table, limits.keys_before)
                )
                row = await cursor.fetchone()
                gone[table] = int(row[0]) if row else 0
        if limits.decisions_before is not None:
            cursor = await connection.execute(
                "SELECT hushgate_drop_partitions(%s)", (limits.decisions_before,)
            )
            row = await cursor.fetchone()
            gone["ai_decisions"] = int(row[0]) if row else 0
    return gone
