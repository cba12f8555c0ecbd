"""The commit of a check with its verdict, once per account and id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from db.commits.commit_sql import KEY_OF_CHECK
from db.commits.record import commit_alone
from db.commits.values import commit_values
from db.history.conversation_owners import conversation_state
from db.pool import Pool, fetch_rows
from worker.model import CheckVerdict, ConversationState, Decision, Event
from worker.stored_json import object_writer, read_object

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

    request_hash: bytes | None
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


async def record_check(source: Pool, decision: Decision, request_hash: bytes) -> bool:
    """Commit the decision of a check with its verdict; False when one with its id was stored before.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    assert decision.check is not None  # the decision of a check
    verdict = orjson.dumps(object_writer(CheckVerdict)(decision.check)).decode()
    values = commit_values(decision) | {"request_hash": request_hash, "verdict": verdict}
    return await commit_alone(source, decision, KEY_OF_CHECK, values)
