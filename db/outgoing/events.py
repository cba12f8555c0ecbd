"""Outgoing events: stored once, in the transaction of the change that they report."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from db.outbox import HOLD_S
from db.outgoing.locked_batch import LockedBatch, begun
from db.pool import Pool, checkout
from db.rows import first_value, from_row

COLUMNS: Final = "user_id, conversation_id, type, key, body, created_at"
INSERT: Final = (
    f"INSERT INTO outgoing_events ({COLUMNS}) {{source}} ON CONFLICT (user_id, type, key) DO NOTHING"
)
"""For a statement or one of its CTEs: ``source`` selects ``COLUMNS``; the type has a stream."""
INSERT_WITHOUT_STREAM: Final = f"""
    INSERT INTO outgoing_events ({COLUMNS}, streamed_at)
    SELECT {COLUMNS}, created_at FROM ({{source}}) AS event ({COLUMNS})
    ON CONFLICT (user_id, type, key) DO NOTHING
"""
"""``INSERT`` for a type that only webhooks send."""
LOCK: Final = f"""
    SELECT pg_try_advisory_xact_lock(hashtextextended('hushgate outgoing events', 0)),
        set_config('idle_in_transaction_session_timeout', '{round(HOLD_S * 1000)}', true)
"""
LOCK_AND_WAIT: Final = LOCK.replace("pg_try_advisory_xact_lock", "pg_advisory_xact_lock")
"""Blocks relays of these events until this transaction ends."""
IS_WAITING: Final = "SELECT EXISTS (SELECT FROM outgoing_events WHERE streamed_at IS NULL)"
WAITING: Final = """
    SELECT id AS row_id, user_id, conversation_id, type, key, body, created_at
    FROM outgoing_events WHERE streamed_at IS NULL ORDER BY id LIMIT %s
"""
SET_STREAMED: Final = "UPDATE outgoing_events SET streamed_at = %s WHERE id = ANY(%s::bigint[])"


class OutgoingEventType(StrEnum):
    """The types of outgoing events; stored, and sent as the type of a webhook."""

    ESCALATION_OPENED = "escalation.opened"
    ESCALATION_CLOSED = "escalation.closed"


STREAM_TYPES: Final = ", ".join(f"'{each.value}'" for each in OutgoingEventType)
"""For SQL: the types that have a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingEvent:
    """A stored outgoing event.

    Attributes:
        key: unique within account and type.
        body: the fields of the type's schema.
    """

    row_id: int
    user_id: str
    conversation_id: str
    type: str
    key: str
    body: dict[str, Any]
    created_at: datetime


@asynccontextmanager
async def events_to_stream(source: Pool, limit: int) -> AsyncIterator[LockedBatch[OutgoingEvent] | None]:
    """The oldest events that wait for their stream, in one transaction; None while another relay has them.

    The events of one conversation are in the order of their changes. Without waiting events it costs one
    index lookup.
    """
    async with checkout(source) as connection:
        if not await first_value(connection, IS_WAITING):
            yield LockedBatch[OutgoingEvent](connection, (), SET_STREAMED)
            return
        found = await begun(connection, LOCK, WAITING, values=(limit,))  # the end of the checkout commits
        if found is None:
            yield None
            return
        yield LockedBatch(connection, [from_row(OutgoingEvent, row) for row in found[0]], SET_STREAMED)
