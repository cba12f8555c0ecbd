"""Partitions and retention, through database functions that the worker's role may call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from db.pool import Pool, fetch_value
from db.webhooks.blocked import unblock_conversations

OUTGOING_KEPT: Final = timedelta(days=30)
"""Age from which outgoing events are deleted, as sealed exchanges are; they have drafts in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimits:
    """The limits of retention; None keeps rows for ever."""

    now: datetime
    keys_before: datetime | None
    decisions_before: date | None


async def ensure_partitions(source: Pool, today: date) -> int:
    """Create the partitions of this month and the next three; how many were missing."""
    return int(await fetch_value(source, "SELECT hushgate_ensure_partitions(%s, 3)", (today,)))


async def sweep_expired(source: Pool, limits: RetentionLimits) -> dict[str, int]:
    """Delete by age; the number of deleted rows, or of dropped partitions of ``ai_decisions``, by table.

    Webhooks then continue in conversations whose waiting event was deleted.
    """
    calls: dict[str, tuple[str, date]] = {
        "quarantine": ("SELECT hushgate_sweep_quarantine(%s)", limits.now),
        "held_drafts": ("SELECT hushgate_sweep_held_drafts(%s)", limits.now),
        "outgoing_events": ("SELECT hushgate_sweep_outgoing(%s)", limits.now - OUTGOING_KEPT),
    }
    if limits.keys_before is not None:
        for table in ("event_keys", "duplicates", "dead_letters"):
            calls[table] = (f"SELECT hushgate_sweep_before('{table}', %s)", limits.keys_before)
    if limits.decisions_before is not None:
        month = limits.decisions_before.replace(day=1)  # no answer goes before its decision
        calls["answers"] = ("SELECT hushgate_sweep_answers(%s)", month)
        calls["outbox"] = ("SELECT hushgate_sweep_outbox(%s)", month)
        calls["escalations"] = ("SELECT hushgate_sweep_escalations(%s)", limits.decisions_before)
        calls["ai_decisions"] = ("SELECT hushgate_drop_partitions(%s)", limits.decisions_before)
    deleted = {table: int(await fetch_value(source, call, (end,))) for table, (call, end) in calls.items()}
    await unblock_conversations(source, limits.now)
    return deleted
