"""Payloads that cannot become an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.decisions import Recorded, find_outcome
from db.pool import Pool, checkout, fetch_value
from db.tables import dead_letters
from worker.errors import PayloadRejected
from worker.model import Event

RAW_BYTES: Final = 65_536
BURY: Final = """
    INSERT INTO dead_letters (entry_id, created_at, reason_code, field, expected, got, size_bytes, raw)
    SELECT %(entry_id)s, %(at)s, %(code)s, %(field)s, %(expected)s, %(got)s, %(size_bytes)s, %(raw)s
"""
BURY_ENTRY: Final = f"{BURY} ON CONFLICT DO NOTHING"
BURY_EVENT: Final = f"""
    WITH key AS ({{key}}), letter AS ({BURY} FROM key ON CONFLICT DO NOTHING) SELECT count(*) FROM key
"""
KEY: Final = """
    INSERT INTO event_keys (user_id, event_id, entry_id, created_at)
    VALUES (%(user_id)s, %(event_id)s, %(entry_id)s, %(at)s) ON CONFLICT DO NOTHING RETURNING user_id
"""
KEY_OF_BURIED: Final = """
    SELECT 1 WHERE hushgate_take_over_key(%(user_id)s, %(event_id)s, %(entry_id)s, NULL, %(at)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A payload and why it is not an event; ``size_bytes`` counts the whole payload."""

    entry_id: str
    payload: bytes
    size_bytes: int
    why: PayloadRejected
    at: datetime


async def store_letter(source: Pool, letter: DeadLetter) -> None:
    """Store the first 64 KiB of a payload that cannot become an event, with the reason; once per entry.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    async with checkout(source) as connection:
        await connection.execute(BURY_ENTRY, _values(letter))


async def bury_event(source: Pool, letter: DeadLetter, event: Event) -> Recorded:
    """Store a valid event as a dead letter unless it was decided; the first of the two takes the event's key.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    values = _values(letter) | {"user_id": event.user_id, "event_id": event.event_id}
    for key in (KEY, KEY_OF_BURIED):
        if await fetch_value(source, BURY_EVENT.format(key=key), values):
            return Recorded.BURIED
        if (found := await find_outcome(source, event)) is not None:
            return found
    return Recorded.BURIED


def _values(letter: DeadLetter) -> dict[str, Any]:
    why = letter.why
    return {
        "entry_id": letter.entry_id,
        "at": letter.at,
        "code": why.code,
        "field": why.field,
        "expected": why.expected,
        "got": why.got,
        "size_bytes": letter.size_bytes,
        "raw": letter.payload[:RAW_BYTES],
    }


async def list_letters(
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


async def get_payload(connection: AsyncConnection, entry_id: str) -> tuple[bytes, int] | None:
    """The stored bytes of a payload and its full size; None when there is no such letter."""
    query = sa.select(dead_letters.c.raw, dead_letters.c.size_bytes)
    row = (await connection.execute(query.where(dead_letters.c.entry_id == entry_id))).one_or_none()
    return None if row is None else (bytes(row.raw), int(row.size_bytes))
