"""Payloads that cannot become an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from db.commits.stored_event import Recorded, look_up_event
from db.pool import Pool, checkout, fetch_value
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
    """A payload and why it was not decided.

    Attributes:
        size_bytes: of the whole payload.
        event: what the payload is; None when it cannot become an event.
    """

    entry_id: str
    payload: bytes
    size_bytes: int
    why: PayloadRejected
    at: datetime
    event: Event | None = None


async def bury(source: Pool, letter: DeadLetter) -> Recorded:
    """Store the first 64 KiB of a payload with the reason, once per entry; a decided event stays decided.

    Of decision and dead letter, the first takes the event's key.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    values = _values(letter)
    if (event := letter.event) is None:
        async with checkout(source) as connection:
            await connection.execute(BURY_ENTRY, values)
        return Recorded.BURIED
    values |= {"user_id": event.user_id, "event_id": event.event_id}
    for key in (KEY, KEY_OF_BURIED):
        if await fetch_value(source, BURY_EVENT.format(key=key), values):
            return Recorded.BURIED
        if (found := (await look_up_event(source, event, event.received_at)).outcome) is not None:
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
