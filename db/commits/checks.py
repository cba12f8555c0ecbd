"""What is stored of a check: its verdict, and who owns its conversation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from db.history.conversation_owners import conversation_state
from db.pool import Pool, fetch_rows
from worker.checks.given import UNKNOWN_AUTHOR_ID
from worker.model import CheckVerdict, ConversationState, Event
from worker.stored_json import read_object

LOOK_UP: Final = """
    SELECT k.request_hash, k.verdict, CASE WHEN c.cause <> 'release' THEN c.people_until END, c.changes,
        CASE WHEN %(author_id)s::text <> '' THEN hushgate_author_counts(%(user_id)s, %(author_id)s) END
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
        conversation: who owns its conversation, and what is counted of the message's author.
    """

    request_hash: str | None
    verdict: CheckVerdict | None
    conversation: ConversationState


async def look_up_check(source: Pool, event: Event, *, counts_author: bool = False) -> KnownCheck:
    """Look a check up, and who owns its conversation.

    ``counts_author``: also how often its author was flagged and wrote; a check may name no author.

    Raises:
        StorageUnavailable: it could not be read; safe to repeat.
    """
    values = {
        "user_id": event.user_id,
        "event_id": event.event_id,
        "conversation_id": event.conversation_id,
        "author_id": event.author_id if counts_author and event.author_id != UNKNOWN_AUTHOR_ID else "",
    }
    ((known, verdict, people_until, changes, counts),) = await fetch_rows(source, LOOK_UP, values)
    strikes, messages_1h = counts or (None, None)
    state = conversation_state(people_until, changes, event.received_at)
    return KnownCheck(
        request_hash=known,
        verdict=None if verdict is None else read_object(CheckVerdict, verdict, "", []),
        conversation=replace(state, strikes=strikes, messages_1h=messages_1h),
    )
