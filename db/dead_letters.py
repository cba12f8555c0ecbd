"""Payloads that cannot become an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.pool import Pool, checkout
from db.tables import dead_letters
from worker.errors import PayloadRejected

RAW_BYTES: Final = 65_536
BURY: Final = """
    INSERT INTO dead_letters (entry_id, created_at, reason_code, field, expected, got, size_bytes, raw)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A payload with the reason why it is no event; ``size_bytes`` is the whole payload's."""

    entry_id: str
    payload: bytes
    size_bytes: int
    why: PayloadRejected
    at: datetime


async def bury(source: Pool, letter: DeadLetter) -> None:
    """Keep a payload's first 64 KiB with its reason; once per entry.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    why, raw = letter.why, letter.payload[:RAW_BYTES]
    values = (letter.entry_id, letter.at, why.code, why.field, why.expected, why.got, letter.size_bytes, raw)
    async with checkout(source) as connection:
        await connection.execute(BURY, values)


async def newest(
    connection: AsyncConnection, limit: int, *, since: datetime | None = None, reason: str | None = None
) -> list[dict[str, Any]]:
    """Dead letters without their payload, newest first; None means any."""
    query = sa.select(*(column for column in dead_letters.c if column.name != "raw")).limit(limit)
    query = query.order_by(dead_letters.c.created_at.desc(), dead_letters.c.entry_id.desc())
    if since is not None:
        query = query.where(dead_letters.c.created_at >= since)
    if reason is not None:
        query = query.where(dead_letters.c.reason_code == reason)
    return [dict(row) for row in (await connection.execute(query)).mappings()]


async def kept(connection: AsyncConnection, entry_id: str) -> tuple[bytes, int] | None:
    """What is left of a payload and how many bytes it had; None when there is no such letter."""
    query = sa.select(dead_letters.c.raw, dead_letters.c.size_bytes)
    row = (await connection.execute(query.where(dead_letters.c.entry_id == entry_id))).one_or_none()
    return None if row is None else (bytes(row.raw), int(row.size_bytes))
