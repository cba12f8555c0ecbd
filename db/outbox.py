"""The outbox: approved replies that wait for the reply stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
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
CONVERSATION_LOCK: Final = (
    "hashtextextended('hushgate conversation ' || user_id || ' ' || conversation_id, 0)"
)
LOCK_CONVERSATION: Final = f"""
    SELECT pg_advisory_xact_lock({CONVERSATION_LOCK}),
        set_config('idle_in_transaction_session_timeout', '{round(HOLD_S * 1000)}', true)
    FROM (SELECT %(user_id)s::text AS user_id, %(conversation_id)s::text AS conversation_id) AS one
"""
"""No relay delivers a reply of this conversation until the transaction ends; at most ``HOLD_S``."""
LOCK_AND_WAIT: Final = LOCK_WITH_TIMEOUT.replace("pg_try_advisory_xact_lock", "pg_advisory_xact_lock")
"""Blocks relays until this transaction ends. A frozen holder loses the lock after ``HOLD_S``."""
REMOVE_CANCELLED: Final = """
    removed AS (
        DELETE FROM messages m USING cancelled
        WHERE m.user_id = cancelled.user_id AND m.conversation_id = cancelled.conversation_id
            AND m.decision_id = cancelled.decision_id AND m.role = 'assistant'
    )
"""
"""A cancelled reply leaves the stored history."""
OVERTAKEN: Final = """
    (o.origin <> 'person' AND EXISTS (
        SELECT FROM conversations c
        WHERE c.user_id = o.user_id AND c.conversation_id = o.conversation_id
            AND (c.people_until > %(now)s AND o.origin = 'ai' OR c.changes <> o.changes)))
"""
"""True of a reply of the AI whose conversation people own, or owned since its decision.

Also of a text at a handoff after the owner changed again: it announces that handoff only.
"""
WAITING: Final = f"""
    WITH cancelled AS (
        UPDATE outbox o SET cancelled_at = %(now)s,
            cancel_reason = CASE WHEN send_before < %(now)s THEN 'too_late' ELSE 'taken_over' END
        WHERE delivered_at IS NULL AND cancelled_at IS NULL AND (send_before < %(now)s OR {OVERTAKEN})
        RETURNING user_id, conversation_id, decision_id
    ), {REMOVE_CANCELLED}, oldest AS MATERIALIZED (
        SELECT id, user_id, conversation_id FROM outbox o
        WHERE delivered_at IS NULL AND cancelled_at IS NULL
            AND (send_before >= %(now)s OR send_before IS NULL) AND NOT {OVERTAKEN}
        ORDER BY id LIMIT %(limit)s
    )
    SELECT id, pg_try_advisory_xact_lock_shared({CONVERSATION_LOCK}) FROM oldest
"""
"""A reply that became too late, or that people forestalled, is cancelled."""
STILL_WAITING: Final = f"""
    SELECT id AS row_id, user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
           sources, metadata, draft IS NOT NULL AS ai_generated, origin = 'handoff' AS handoff,
           CASE WHEN row_number() OVER (
                    PARTITION BY user_id, conversation_id, disclosure IS NULL ORDER BY id) = 1
                AND NOT EXISTS (
                    SELECT FROM outbox e WHERE e.user_id = o.user_id AND e.conversation_id = o.conversation_id
                        AND e.delivered_at IS NOT NULL AND e.disclosure IS NOT NULL)
                THEN disclosure END AS disclosure
    FROM outbox o
    WHERE id = ANY(%(ids)s) AND delivered_at IS NULL AND cancelled_at IS NULL AND NOT {OVERTAKEN}
    ORDER BY id
"""
"""Read once more under the locks: a takeover may have been stored after the first look.

The first reply that is delivered in a conversation has the disclosure; relays deliver one after the other.
"""
CANCEL_OF_CONVERSATION: Final = f"""
    WITH cancelled AS (
        UPDATE outbox SET cancelled_at = %(now)s, cancel_reason = 'taken_over'
        WHERE delivered_at IS NULL AND cancelled_at IS NULL
            AND user_id = %(user_id)s AND conversation_id = %(conversation_id)s
            AND origin <> 'person' AND decision_id IS DISTINCT FROM %(keep)s::uuid
        RETURNING user_id, conversation_id, decision_id
    ), {REMOVE_CANCELLED}
    SELECT count(*) FROM cancelled
"""
"""``keep`` is the decision whose text at a handoff stays, or null."""
SET_DELIVERED: Final = "UPDATE outbox SET delivered_at = %s WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingReply:
    """An approved reply that waits for delivery.

    Attributes:
        sources: its cited passages in the form of ``worker.model.Source.shape``.
        metadata: as ``reply_metadata`` made it; empty in rows of releases before 0026.
        disclosure: the text to send before the reply, or None when the conversation had one.
        ai_generated: whether a model wrote ``text``; False for a fallback text.
        handoff: whether it is the account's text at a handoff.
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
    metadata: dict[str, Any]
    disclosure: str | None
    ai_generated: bool
    handoff: bool


class LockedBatch(Generic[Row]):
    """Rows that wait for an output stream, locked by one relay.

    Attributes:
        complete: False when rows were left out because their conversation is being taken over.
    """

    def __init__(
        self, connection: PoolConnection, rows: Sequence[Row], set_delivered: str, *, complete: bool = True
    ) -> None:
        self._connection = connection
        self._set_delivered = set_delivered
        self.rows = tuple(rows)
        self.complete = complete

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
        oldest = await (await connection.execute(WAITING, {"limit": limit, "now": now})).fetchall()
        locked = [row_id for row_id, is_locked in oldest if is_locked]
        rows: list[WaitingReply] = []
        if locked:
            async with connection.cursor(row_factory=class_row(WaitingReply)) as cursor:
                await cursor.execute(STILL_WAITING, {"ids": locked, "now": now})
                rows = await cursor.fetchall()
        yield LockedBatch(connection, rows, SET_DELIVERED, complete=len(locked) == len(oldest))
