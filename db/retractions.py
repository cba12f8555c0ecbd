"""Replies that a reviewer took back after delivery: they wait here for the retraction stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from db.outbox import LOCK
from db.pool import Connection, Pool, checkout

IS_DUE: Final = """
    SELECT EXISTS (
        SELECT FROM retractions WHERE delivered_at IS NULL AND cancelled_at IS NULL AND not_before <= %s)
"""
DUE: Final = """
    SELECT id AS retraction_id, user_id, event_id, decision_id, review_id, conversation_id, message_id, scope,
           created_at
    FROM retractions WHERE delivered_at IS NULL AND cancelled_at IS NULL AND not_before <= %s
    ORDER BY not_before, id LIMIT %s
"""
MARK: Final = "UPDATE retractions SET delivered_at = %s WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """A reply that its channel is asked to remove."""

    retraction_id: int
    user_id: str
    event_id: str
    decision_id: UUID
    review_id: UUID
    conversation_id: str
    message_id: str
    scope: str
    created_at: datetime


class DueRetractions:
    """Retractions whose undo window is over, held by the one relay of this moment."""

    def __init__(self, connection: Connection, retractions: tuple[Retraction, ...]) -> None:
        self._connection = connection
        self.retractions = retractions

    async def delivered(self, ids: Sequence[int], at: datetime) -> None:
        """Mark those that are on the stream."""
        await self._connection.execute(MARK, (at, list(ids)))


@asynccontextmanager
async def due(source: Pool, now: datetime, limit: int) -> AsyncIterator[DueRetractions | None]:
    """Retractions that are due, in one transaction under the outbox's own lock, which an undo takes too.

    None while another relay is at work, or a reviewer's undo. Nothing due costs one look at an index.
    """
    async with checkout(source) as connection:
        row = await (await connection.execute(IS_DUE, (now,))).fetchone()
        if not (row and row[0]):
            yield DueRetractions(connection, ())
            return
        async with connection.transaction():
            row = await (await connection.execute(LOCK)).fetchone()
            if not (row and row[0]):
                yield None
                return
            async with connection.cursor(row_factory=class_row(Retraction)) as cursor:
                rows = await (await cursor.execute(DUE, (now, limit))).fetchall()
            yield DueRetractions(connection, tuple(rows))
