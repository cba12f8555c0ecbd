"""The outbox: replies that wait for the reply stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from db.pool import Connection, Pool, checkout

LOCK: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('hushgate outbox', 0))"
WAITING: Final = """
    SELECT id, user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at
    FROM outbox WHERE delivered_at IS NULL AND cancelled_at IS NULL ORDER BY id LIMIT %s
"""
MARK: Final = "UPDATE outbox SET delivered_at = %s WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An approved reply that waits for delivery."""

    outbox_id: int
    user_id: str
    event_id: str
    decision_id: UUID
    conversation_id: str
    message_id: str
    scope: str
    text: str
    created_at: datetime


class Batch:
    """Waiting replies, held by the one relay of this moment."""

    def __init__(self, connection: Connection, replies: tuple[Reply, ...]) -> None:
        self._connection = connection
        self.replies = replies

    async def delivered(self, ids: Sequence[int], at: datetime) -> None:
        """Mark replies that are on the stream."""
        await self._connection.execute(MARK, (at, list(ids)))


@asynccontextmanager
async def waiting(source: Pool, limit: int) -> AsyncIterator[Batch | None]:
    """The oldest waiting replies in one transaction; None while another relay is at work."""
    async with checkout(source) as connection, connection.transaction():
        row = await (await connection.execute(LOCK)).fetchone()
        if not (row and row[0]):
            yield None
            return
        rows = await (await connection.execute(WAITING, (limit,))).fetchall()
        yield Batch(connection, tuple(_reply(*row) for row in rows))


def _reply(  # noqa: PLR0917  # one parameter a column
    outbox_id: int,
    user_id: str,
    event_id: str,
    decision_id: UUID,
    conversation_id: str,
    message_id: str,
    scope: str,
    text: str,
    created_at: datetime,
) -> Reply:
    return Reply(
        outbox_id=outbox_id,
        user_id=user_id,
        event_id=event_id,
        decision_id=decision_id,
        conversation_id=conversation_id,
        message_id=message_id,
        scope=scope,
        text=text,
        created_at=created_at,
    )
