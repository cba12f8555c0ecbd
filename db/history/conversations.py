"""The stored history of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from db.pool import Pool, fetch_rows
from worker.batched_calls import BatchedCall, call_batched
from worker.model import Message, MessageRole, WriterSign

LINES: Final = """
    (SELECT json_agg(json_build_array(m.role, m.text, m.created_at, m.sign) ORDER BY m.id) FROM (
        SELECT role, text, created_at, sign, id FROM messages
        WHERE user_id = asked.user_id AND conversation_id = asked.conversation_id
            AND sign IS DISTINCT FROM 'early_edit'
        ORDER BY id DESC LIMIT {most}) AS m)
"""
"""For ``lines_of``, in the order of the ids, which the database gives out: a worker's clock may be wrong."""
HISTORY: Final = f"""
    SELECT {LINES.format(most="asked.most")} FROM unnest(%s::text[], %s::text[], %s::integer[])
        WITH ORDINALITY AS asked (user_id, conversation_id, most, place)
    ORDER BY asked.place
"""


def lines_of(stored: Sequence[Sequence[str]] | None) -> tuple[Message, ...]:
    """The lines of a conversation from the column ``LINES``."""
    return tuple(
        Message(
            role=MessageRole(role),
            text=text,
            at=datetime.fromisoformat(at),
            sign=WriterSign(sign) if sign else None,
        )
        for role, text, at, sign in stored or ()
    )


async def _histories(source: Pool, asked: Sequence[tuple[str, str, int]]) -> tuple[tuple[Message, ...], ...]:
    """The history of several conversations: account, conversation and most messages of each."""
    columns = [list(column) for column in zip(*asked, strict=True)]
    return tuple(lines_of(stored) for (stored,) in await fetch_rows(source, HISTORY, columns))


HISTORIES: Final = BatchedCall(together=_histories)


class PostgresConversations:
    """``worker.ports.Conversations`` over the table ``messages``."""

    def __init__(self, source: Pool) -> None:
        self._source = source

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The newest ``limit`` messages, oldest first; edited and restored ones keep their place."""
        return await call_batched(self._source, HISTORIES, (user_id, conversation_id, limit))
