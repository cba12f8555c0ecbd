"""The stored history of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from db.pool import Pool, fetch_rows
from worker.batched_calls import BatchedCall, call_batched
from worker.model import Message, MessageRole, WriterSign

HISTORY: Final = """
    SELECT asked.place, m.role, m.text, m.created_at, m.sign
    FROM unnest(%s::text[], %s::text[], %s::integer[])
        WITH ORDINALITY AS asked (user_id, conversation_id, most, place)
    CROSS JOIN LATERAL (
        SELECT role, text, created_at, sign, id FROM messages
        WHERE user_id = asked.user_id AND conversation_id = asked.conversation_id
            AND sign IS DISTINCT FROM 'early_edit'
        ORDER BY id DESC LIMIT asked.most) AS m
    ORDER BY asked.place, m.id
"""
"""In the order of the ids, which the database gives out: a worker's clock may be wrong."""


async def _histories(source: Pool, asked: Sequence[tuple[str, str, int]]) -> tuple[tuple[Message, ...], ...]:
    """The history of several conversations: account, conversation and most messages of each."""
    found: list[list[Message]] = [[] for _ in asked]
    columns = [list(column) for column in zip(*asked, strict=True)]
    for place, role, text, at, sign in await fetch_rows(source, HISTORY, columns):
        line = Message(role=MessageRole(role), text=text, at=at, sign=WriterSign(sign) if sign else None)
        found[place - 1].append(line)
    return tuple(map(tuple, found))


HISTORIES: Final = BatchedCall(together=_histories)


class PostgresConversations:
    """``worker.ports.Conversations`` over the table ``messages``."""

    def __init__(self, source: Pool) -> None:
        self._source = source

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The newest ``limit`` messages, oldest first; edited and restored ones keep their place."""
        return await call_batched(self._source, HISTORIES, (user_id, conversation_id, limit))
