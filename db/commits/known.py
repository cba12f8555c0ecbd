"""What is stored of an event before its turn: its outcome, and who owns its conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from db.conversation_owners import conversation_state
from db.pool import Pool, checkout
from worker.grouping import GroupedCall, ask
from worker.model import ConversationState, Event

KNOWN: Final = """
    SELECT (SELECT k.entry_id FROM event_keys k
            WHERE k.user_id = asked.user_id AND k.event_id = asked.event_id AND k.decision_id IS NOT NULL),
        EXISTS (SELECT FROM dead_letters d WHERE d.entry_id = asked.entry_id), c.people_until, c.changes
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])
        WITH ORDINALITY AS asked (user_id, event_id, entry_id, conversation_id, place)
    LEFT JOIN LATERAL (
        SELECT people_until, changes FROM conversations c
        WHERE c.user_id = asked.user_id AND c.conversation_id = asked.conversation_id LIMIT 1) AS c ON true
    ORDER BY asked.place
"""
DECIDED: Final = """
    SELECT event_id FROM event_keys WHERE user_id = %s AND event_id = ANY(%s) AND decision_id IS NOT NULL
"""
DUPLICATE: Final = """
    INSERT INTO duplicates (entry_id, user_id, event_id, created_at)
    SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[]) ORDER BY 1
    ON CONFLICT DO NOTHING
"""


class Recorded(StrEnum):
    """What a commit found.

    Attributes:
        ALREADY: this entry has a decision.
        DUPLICATE: another entry of the event has a decision.
        BURIED: this entry is a dead letter.
        OVERTAKEN: nothing was stored: people took the conversation, so its reply must not be sent.
    """

    NEW = "new"
    ALREADY = "already"
    DUPLICATE = "duplicate"
    BURIED = "buried"
    OVERTAKEN = "overtaken"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """What is stored of an event when its turn comes.

    Attributes:
        outcome: None when the event has none yet.
        conversation: who owns its conversation.
    """

    outcome: Recorded | None
    conversation: ConversationState


async def load_event(source: Pool, event: Event, now: datetime) -> StoredEvent:
    """The stored outcome of an event and the owner of its conversation, in one query.

    A further entry of the same event is recorded as a duplicate.
    """
    outcome, people_until, changes = await ask(source, KNOWN_EVENTS, event)
    return StoredEvent(outcome=outcome, conversation=conversation_state(people_until, changes, now))


async def _known(
    source: Pool, events: Sequence[Event]
) -> list[tuple[Recorded | None, datetime | None, int | None]]:
    """Of each event its stored outcome, and until when and how often people took its conversation."""
    ids = [[each.user_id for each in events], [each.event_id for each in events]]
    ids += [[each.entry_id for each in events], [each.conversation_id for each in events]]
    async with checkout(source) as connection:
        rows = await (await connection.execute(KNOWN, ids)).fetchall()
        found = [
            (_outcome(event, entry_id, is_buried=is_buried), people_until, changes)
            for event, (entry_id, is_buried, people_until, changes) in zip(events, rows, strict=True)
        ]
        again = [event for event, known in zip(events, found, strict=True) if known[0] is Recorded.DUPLICATE]
        if again:
            columns = zip(*((e.entry_id, e.user_id, e.event_id, e.received_at) for e in again), strict=True)
            await connection.execute(DUPLICATE, [list(column) for column in columns])
    return found


def _outcome(event: Event, decided_entry: str | None, *, is_buried: bool) -> Recorded | None:
    if is_buried:
        return Recorded.BURIED
    if decided_entry is None:
        return None
    return Recorded.ALREADY if decided_entry == event.entry_id else Recorded.DUPLICATE


KNOWN_EVENTS: Final = GroupedCall(together=_known)


async def decided_events(source: Pool, user_id: str, event_ids: Sequence[str]) -> frozenset[str]:
    """Those of an account's events that have a decision.

    Raises:
        StorageUnavailable: it could not be read.
    """
    async with checkout(source) as connection:
        cursor = await connection.execute(DECIDED, (user_id, list(event_ids)))
        return frozenset(row[0] for row in await cursor.fetchall())


async def find_outcome(source: Pool, event: Event) -> Recorded | None:
    """The stored outcome of an event, or None; see ``load_event``."""
    return (await load_event(source, event, event.received_at)).outcome
