"""Payloads that cannot become an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from db.pool import Pool, checkout
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
