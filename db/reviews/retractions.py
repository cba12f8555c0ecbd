"""Retractions: delivered replies that a reviewer removed, waiting for the retraction stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from db.outbox import LOCK_WITH_TIMEOUT
from db.outgoing.locked_batch import LockedBatch, begun
from db.pool import Pool, checkout
from db.rows import first_value, from_row

IS_DUE: Final = """
    SELECT EXISTS (
        SELECT FROM retractions WHERE delivered_at IS NULL AND cancelled_at IS NULL AND not_before <= %s)
"""
DUE: Final = """
    SELECT id AS row_id, user_id, event_id, decision_id, review_id, conversation_id, message_id, scope,
           created_at
    FROM retractions WHERE delivered_at IS NULL AND cancelled_at IS NULL AND not_before <= %s
    ORDER BY not_before, id LIMIT %s
"""
SET_DELIVERED: Final = "UPDATE retractions SET delivered_at = %s WHERE id = ANY(%s::bigint[])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """A request to the channel to remove a reply."""

    row_id: int
    user_id: str
    event_id: str
    decision_id: UUID
    review_id: UUID
    conversation_id: str
    message_id: str
    scope: str
    created_at: datetime


@asynccontextmanager
async def due_retractions(
    source: Pool, limit: int, now: datetime
) -> AsyncIterator[LockedBatch[Retraction] | None]:
    """Due retractions, in one transaction under the outbox's lock, which an undo takes too.

    None while a relay or an undo holds the lock. Without due retractions it costs one index lookup.
    """
    async with checkout(source) as connection:
        if not await first_value(connection, IS_DUE, (now,)):
            yield LockedBatch[Retraction](connection, (), SET_DELIVERED)
            return
        found = await begun(connection, LOCK_WITH_TIMEOUT, DUE, values=(now, limit))
        if found is None:  # the end of the checkout commits
            yield None
            return
        yield LockedBatch(connection, [from_row(Retraction, row) for row in found[0]], SET_DELIVERED)
