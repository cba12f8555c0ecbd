"""Deliveries whose earlier event was deleted while it waited: nothing else would make them due."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from db.pool import Pool, checkout
from db.rows import first_value
from db.webhooks.queue import LOCK_QUEUE

IS_BLOCKED: Final = """
    n.state = 'waiting' AND n.next_attempt_at IS NULL AND NOT EXISTS (
        SELECT FROM webhook_deliveries b
        WHERE b.endpoint_id = n.endpoint_id AND b.user_id = n.user_id
            AND b.conversation_id = n.conversation_id AND b.state = 'waiting'
            AND (b.next_attempt_at IS NOT NULL OR b.event_row < n.event_row))
"""
"""True of the earliest waiting delivery of a conversation in which none has a time."""
ANY_BLOCKED: Final = f"SELECT EXISTS (SELECT FROM webhook_deliveries n WHERE {IS_BLOCKED})"
UNBLOCK: Final = f"UPDATE webhook_deliveries n SET next_attempt_at = %(now)s WHERE {IS_BLOCKED}"


async def unblock_conversations(source: Pool, now: datetime) -> int:
    """Make the next deliveries due after retention or a person deleted the event before them; how many."""
    async with checkout(source) as connection:
        if not await first_value(connection, ANY_BLOCKED):
            return 0
        async with connection.transaction():
            await connection.execute(LOCK_QUEUE)
            return (await connection.execute(UNBLOCK, {"now": now})).rowcount
