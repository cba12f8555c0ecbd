"""Partitions, through a database function that the worker's role may call."""

from __future__ import annotations

from datetime import date
from typing import Final

from db.pool import Pool, fetch_value

ENSURE_PARTITIONS: Final = "SELECT hushgate_ensure_partitions(%s, 3)"
"""With a date, creates the partitions of its month and of the next three; gives how many were missing."""


async def ensure_partitions(source: Pool, today: date) -> int:
    """Create the partitions of this month and the next three; how many were missing."""
    return int(await fetch_value(source, ENSURE_PARTITIONS, (today,)))
