"""The stored history of conversations."""

from __future__ import annotations

from typing import Final

from db.pool import Pool, fetch_rows
from worker.model import Message, MessageRole

HISTORY: Final = """
    SELECT role, text FROM messages WHERE user_id = %s AND conversation_id = %s
    ORDER BY created_at DESC, id DESC LIMIT %s
"""


class PostgresConversations:
    """``worker.ports.Conversations`` over the table ``messages``."""

    def __init__(self, source: Pool) -> None:
        self._source = source

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The newest ``limit`` messages, oldest first; restored messages keep their place in time."""
        rows = await fetch_rows(self._source, HISTORY, (user_id, conversation_id, limit))
        return tuple(Message(role=MessageRole(role), text=text) for role, text in reversed(rows))
