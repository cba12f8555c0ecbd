"""What is stored of a check: its verdict, and who owns its conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from db.history.conversation_owners import conversation_state
from db.pool import Pool, fetch_rows
from worker.model import CheckVerdict, ConversationState, Event
from worker.stored_json import read_object

LOOK_UP: Final = """
    SELECT k.request_hash, k.verdict, c.people_until, c.changes
    FROM (SELECT 1) AS asked
    LEFT JOIN checks k ON k.user_id = %(user_id)s AND k.event_id = %(event_id)s
    LEFT JOIN conversations c ON c.user_id = %(user_id)s AND c.conversation_id = %(conversation_id)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCheck:
    """What is stored of a check.

    Attributes:
        request_hash: None of a check that is new.
        verdict: None of a check that is new, or was erased.
        conversation: who owns its conversation.
    """

    request_hash: str | None
    verdict: CheckVerdict | None
    conversation: ConversationState


async def look_up_check(source: Pool, event: Event) -> KnownCheck:
    """Look a check up, and who owns its conversation.

    Raises:
        StorageUnavailable: it could not be read; safe to repeat.
    """
    values = {
        "user_id": event.user_id,
        "event_id": event.event_id,
        "conversation_id": event.conversation_id,
    }
    ((known, verdict, people_until, changes),) = await fetch_rows(source, LOOK_UP, values)
    return KnownCheck(
        request_hash=known,
        verdict=None if verdict is None else read_object(CheckVerdict, verdict, "", []),
        conversation=conversation_state(people_until, changes, event.received_at),
    )
