"""Retractions: delivered replies that a reviewer removed, waiting for the retraction stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from db.outbox import LOCK_WITH_TIMEOUT
from db.pool import Pool, PoolConnection, checkout

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
SET_DELIVERED: Final = "UPDATE retractions SET delivered_at = %s WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """A request to the channel to remove a reply."""

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
    """Retractions whose undo window is over, locked by one relay."""

    def __init__(self, connection: PoolConnection, retractions: tuple[Retraction, ...]) -> None:
        self._connection = connection
        self.retractions = retractions

    async def delivered(self, ids: Sequence[int], at: datetime) -> None:
        """Record that retractions were put on the stream."""
        await self._connection.execute(SET_DELIVERED, (at, list(ids)))


@asynccontextmanager
async def due_retractions(source: Pool, now: datetime, limit: int) -> AsyncIterator[DueRetractions | None]:
    """Due retractions, in one transaction under the outbox's lock, which an undo takes too.

    None while a relay or an undo holds the lock. Without due retractions it costs one index lookup.
    """
    async with checkout(source) as connection:
        row = await (await connection.execute(IS_DUE, (now,))).fetchone()
        if not (row and row[0]):
            yield DueRetractions(connection, ())
            return
        async with connection.transaction():
            row = await (await connection.execute(LOCK_WITH_TIMEOUT)).fetchone()
            if not (row and row[0]):
                yield None
                return
            async with connection.cursor(row_factory=class_row(Retraction)) as cursor:
                rows = await (await cursor.execute(DUE, (now, limit))).fetchall()
            yield DueRetractions(connection, tuple(rows))
