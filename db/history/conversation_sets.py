"""Measured conversations: their stored history, and how each of their questions ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from uuid_utils.compat import uuid7

from db.pool import Pool, checkout, fetch_rows, fetch_value
from worker.model import Message

INSERT: Final = """
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
DECIDED: Final = "SELECT count(*) FROM ai_decisions WHERE event_id LIKE %s"
ENDINGS: Final = """
    SELECT d.event_id, d.reason_code, o.text,
           d.decision = 'escalate' OR EXISTS (SELECT FROM held_drafts h WHERE h.decision_id = d.id) AS waits,
           d.degraded
    FROM ai_decisions d
    LEFT JOIN outbox o ON o.user_id = d.user_id AND o.event_id = d.event_id AND o.origin = 'ai'
    WHERE d.event_id LIKE %s ORDER BY d.event_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMessage:
    """A line that was said before a measured question."""

    user_id: str
    conversation_id: str
    message: Message
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEnding:
    """How a question ended.

    Attributes:
        reply: the text in the outbox, or None.
        waits: a person is to answer it, or may approve the draft.
        degraded: a service that should have been consulted was not, such as the embedding server.
    """

    event_id: str
    reason_code: str
    reply: str | None
    waits: bool
    degraded: bool = False


async def store_history(source: Pool, past: Sequence[PastMessage]) -> None:
    """Store earlier lines of conversations in one transaction."""
    rows = [
        (
            each.user_id,
            each.conversation_id,
            f"{each.conversation_id}-{number}",
            uuid7(),
            each.message.role,
            each.message.text,
            each.created_at,
        )
        for number, each in enumerate(past)
    ]
    if rows:
        async with checkout(source) as connection, connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(INSERT, rows)


async def count_decided(source: Pool, run: str) -> int:
    """How many events of a run, whose ids start with its name and a hyphen, have a decision."""
    return int(await fetch_value(source, DECIDED, (f"{run}-%",)))


async def load_endings(source: Pool, run: str) -> tuple[QuestionEnding, ...]:
    """The ending of each decided event of a run."""
    rows = await fetch_rows(source, ENDINGS, (f"{run}-%",))
    return tuple(
        QuestionEnding(
            event_id=event_id, reason_code=reason_code, reply=reply, waits=waits, degraded=degraded
        )
        for event_id, reason_code, reply, waits, degraded in rows
    )
