"""The outbox: approved replies that wait for the reply stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar
from uuid import UUID

from psycopg.rows import class_row

from db.pool import Pool, PoolConnection, checkout

Row = TypeVar("Row")
LOCK: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('hushgate outbox', 0))"
HOLD_S: Final = 6.0
"""Postgres ends the transaction and the lock of a relay that is idle for this long: it is frozen."""
LOCK_WITH_TIMEOUT: Final = (
    f"{LOCK}, set_config('idle_in_transaction_session_timeout', '{round(HOLD_S * 1000)}', true)"
)
WAITING: Final = """
    WITH late AS (
        UPDATE outbox SET cancelled_at = %(now)s
        WHERE delivered_at IS NULL AND cancelled_at IS NULL AND send_before < %(now)s
        RETURNING user_id, conversation_id, decision_id
    ), removed AS (
        DELETE FROM messages m USING late
        WHERE m.user_id = late.user_id AND m.conversation_id = late.conversation_id
            AND m.decision_id = late.decision_id AND m.role = 'assistant'
    )
    SELECT id AS row_id, user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
           sources
    FROM outbox
    WHERE delivered_at IS NULL AND cancelled_at IS NULL AND (send_before >= %(now)s OR send_before IS NULL)
    ORDER BY id LIMIT %(limit)s
"""
"""A reply that became too late is cancelled and removed from the stored history."""
SET_DELIVERED: Final = "UPDATE outbox SET delivered_at = %s WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingReply:
    """An approved reply that waits for delivery.

    Attributes:
        sources: its cited passages in the form of ``worker.model.Source.shape``.
    """

    row_id: int
    user_id: str
    event_id: str
    decision_id: UUID
    conversation_id: str
    message_id: str
    scope: str
    text: str
    created_at: datetime
    sources: list[dict[str, int | str]]


class LockedBatch(Generic[Row]):
    """Rows that wait for an output stream, locked by one relay."""

    def __init__(self, connection: PoolConnection, rows: Sequence[Row], set_delivered: str) -> None:
        self._connection = connection
        self._set_delivered = set_delivered
        self.rows = tuple(rows)

    async def delivered(self, ids: Sequence[int], at: datetime) -> None:
        """Record that rows were put on the stream."""
        await self._connection.execute(self._set_delivered, (at, list(ids)))


@asynccontextmanager
async def waiting_replies(
    source: Pool, limit: int, now: datetime
) -> AsyncIterator[LockedBatch[WaitingReply] | None]:
    """The oldest waiting replies in one transaction; None while another relay holds the lock.

    The transaction ends after ``HOLD_S`` without a statement, so that a frozen relay blocks no other.
    """
    async with checkout(source) as connection, connection.transaction():
        row = await (await connection.execute(LOCK_WITH_TIMEOUT)).fetchone()
        if not (row and row[0]):
            yield None
            return
        async with connection.cursor(row_factory=class_row(WaitingReply)) as cursor:
            rows = await (await cursor.execute(WAITING, {"limit": limit, "now": now})).fetchall()
        yield LockedBatch(connection, rows, SET_DELIVERED)
