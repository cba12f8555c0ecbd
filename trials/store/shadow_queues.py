"""Queues that get every decision that a shadow would have ended otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from db.connection import Connection
from db.pool import Pool, checkout

ADD: Final = """
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum)
    SELECT q.id, r.decision_id, r.decision_at, r.user_id, ''
    FROM queues q JOIN shadow_results r ON r.shadow_id = %(shadow)s
    WHERE q.definition ->> 'shadow' = %(shadow)s::text AND q.closed_at IS NULL
        AND (%(ids)s::uuid[] IS NULL OR r.decision_id = ANY(%(ids)s))
    ON CONFLICT DO NOTHING
"""


async def add_to_queues(
    connection: Connection, shadow_id: UUID, decision_ids: Sequence[UUID] | None = None
) -> None:
    """Add findings of a shadow, None for all, to the open queues that were opened for it."""
    ids = None if decision_ids is None else list(decision_ids)
    await connection.execute(ADD, {"shadow": shadow_id, "ids": ids})


async def fill_queues_of(source: Pool, shadow_id: UUID) -> None:
    """Add every finding of a shadow to the open queues that were opened for it."""
    async with checkout(source) as connection:
        await add_to_queues(connection, shadow_id)
