"""What is stored of an event before its turn: its outcome, and who owns its conversation.

A further entry of a decided event is stored as a duplicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

import orjson

from db.customer_feedback.storing import rated_event
from db.documents.retrieval import STATE, WITH_EMBEDDER, SearchState, search_state
from db.history.conversation_owners import conversation_state
from db.history.conversations import LINES, lines_of
from db.pool import Pool, checkout, fetch_rows
from worker.batched_calls import BatchedCall, call_batched
from worker.model import ConversationState, Event, EventType, Message, NewerEvent
from worker.steps.context import HISTORY_LINES

LOOK_UP: Final = f"""
    SELECT (SELECT k.entry_id FROM event_keys k
            WHERE k.user_id = asked.user_id AND k.event_id = asked.event_id AND k.decision_id IS NOT NULL),
        EXISTS (SELECT FROM dead_letters d WHERE d.entry_id = asked.entry_id), c.people_until, c.changes,
        m.decided_as, m.edited_at, m.deleted,
        EXISTS (
            SELECT FROM customer_feedback f WHERE f.user_id = asked.user_id
                AND f.conversation_id = asked.conversation_id AND f.decision_id IS NULL
                AND CASE WHEN f.about IS NULL THEN f.message_id = asked.message_id
                    ELSE f.about = asked.event_id END),
        CASE WHEN m.edited_at IS NOT NULL THEN (
            SELECT text FROM messages l WHERE l.user_id = asked.user_id AND l.sign = 'early_edit'
                AND l.conversation_id = asked.conversation_id AND l.message_id = asked.message_id LIMIT 1)
        END,
        CASE WHEN asked.author_id <> '' THEN hushgate_author_counts(asked.user_id, asked.author_id) END,
        {LINES.format(most=HISTORY_LINES)}, {STATE}
    FROM ROWS FROM (jsonb_to_recordset(%s::jsonb) AS (user_id text, event_id text, entry_id text,
            conversation_id text, message_id text, author_id text))
        WITH ORDINALITY
        AS asked (user_id, event_id, entry_id, conversation_id, message_id, author_id, place)
    LEFT JOIN LATERAL (
        SELECT CASE WHEN cause <> 'release' THEN people_until END AS people_until, changes
        FROM conversations c
        WHERE c.user_id = asked.user_id AND c.conversation_id = asked.conversation_id LIMIT 1) AS c ON true
    CROSS JOIN LATERAL (
        SELECT min(k.event_id) FILTER (WHERE k.type IN ('message', 'agent_message')) AS decided_as,
            max(k.written_at) FILTER (WHERE k.type = 'message_edited') AS edited_at,
            coalesce(bool_or(k.type = 'message_deleted'), false) AS deleted
        FROM event_keys k
        WHERE k.user_id = asked.user_id AND k.conversation_id = asked.conversation_id
            AND k.message_id = asked.message_id AND k.event_id <> asked.event_id
            AND k.decision_id IS NOT NULL) AS m
    {WITH_EMBEDDER} ORDER BY asked.place
"""
IDS: Final = ("user_id", "event_id", "entry_id", "conversation_id", "message_id")
DECIDED: Final = """
    SELECT asked.event_id FROM unnest(%(event_ids)s::text[], %(message_ids)s::text[], %(types)s::text[])
        AS asked (event_id, message_id, type)
    WHERE EXISTS (
            SELECT FROM event_keys k WHERE k.user_id = %(user_id)s AND k.event_id = asked.event_id
                AND k.decision_id IS NOT NULL)
        OR asked.type IN ('message', 'agent_message') AND EXISTS (
            SELECT FROM event_keys k WHERE k.user_id = %(user_id)s
                AND k.conversation_id = %(conversation_id)s AND k.message_id = asked.message_id
                AND k.type IN ('message', 'agent_message') AND k.decision_id IS NOT NULL)
"""
DUPLICATE: Final = """
    INSERT INTO duplicates (entry_id, user_id, event_id, created_at)
    SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[]) ORDER BY 1
    ON CONFLICT DO NOTHING
"""


class Recorded(StrEnum):
    """What a commit found.

    Attributes:
        NEW: the decision was stored now.
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
        conversation: who owns its conversation, and what is known of its message.
        edited_text: text of the message by an edit that came before it, or None.
        search: of the account's documents.
        history: the newest ``HISTORY_LINES`` of the conversation, oldest first.
    """

    outcome: Recorded | None
    conversation: ConversationState
    search: SearchState
    edited_text: str | None = None
    history: tuple[Message, ...] = ()


async def look_up_event(
    source: Pool, event: Event, now: datetime, *, counts_author: bool = False
) -> StoredEvent:
    """Look an event up at its turn: its stored outcome and the owner of its conversation, in one query.

    ``counts_author``: also how often its author was flagged and wrote; an erased author has no decisions.

    Writes a row of ``duplicates`` when another entry of the event has a decision.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    known = await call_batched(source, LOOK_UPS, (event, counts_author))
    rated = await rated_event(source, event) if event.type is EventType.FEEDBACK else None
    strikes, messages_1h = known.counts or (None, None)
    state = conversation_state(known.people_until, known.changes, now)
    return StoredEvent(
        outcome=known.outcome,
        conversation=replace(
            state,
            decided_as=known.decided_as,
            edited_at=known.edited_at,
            deleted=known.deleted,
            strikes=strikes,
            messages_1h=messages_1h,
            rated=rated,
            rated_first=known.rated_first and event.type is EventType.MESSAGE,
        ),
        search=known.search,
        edited_text=known.edited_text,
        history=lines_of(known.lines),
    )


class _LookedUp(NamedTuple):
    """Outcome of an event, when people took its conversation, what its message was and its author did."""

    outcome: Recorded | None
    people_until: datetime | None
    changes: int | None
    decided_as: str | None
    edited_at: datetime | None
    deleted: bool
    rated_first: bool
    edited_text: str | None
    counts: tuple[int, int] | None
    lines: Sequence[Sequence[str]] | None
    search: SearchState


KNOWN: Final = len(_LookedUp._fields) - 2
"""Columns between the outcome and those of the search."""


async def _look_up_several(source: Pool, asked: Sequence[tuple[Event, bool]]) -> list[_LookedUp]:
    events = [event for event, _ in asked]
    ids = [
        {name: getattr(event, name) for name in IDS} | {"author_id": event.author_id if counts_author else ""}
        for event, counts_author in asked
    ]
    async with checkout(source) as connection:
        rows = await (await connection.execute(LOOK_UP, (orjson.dumps(ids).decode(),))).fetchall()
        found = [_looked_up(event, row) for event, row in zip(events, rows, strict=True)]
        again = [e for e, known in zip(events, found, strict=True) if known.outcome is Recorded.DUPLICATE]
        if again:
            columns = zip(*((e.entry_id, e.user_id, e.event_id, e.received_at) for e in again), strict=True)
            await connection.execute(DUPLICATE, [list(column) for column in columns])
    return found


def _looked_up(event: Event, row: Sequence[Any]) -> _LookedUp:
    entry_id, is_buried, *others = row
    outcome = _outcome(event, entry_id, is_buried=is_buried)
    return _LookedUp._make((outcome, *others[:KNOWN], search_state(others[KNOWN:])))


def _outcome(event: Event, decided_entry: str | None, *, is_buried: bool) -> Recorded | None:
    if is_buried:
        return Recorded.BURIED
    if decided_entry is None:
        return None
    return Recorded.ALREADY if decided_entry == event.entry_id else Recorded.DUPLICATE


LOOK_UPS: Final = BatchedCall(together=_look_up_several)


async def decided_events(
    source: Pool, user_id: str, conversation_id: str, events: Sequence[Event | NewerEvent]
) -> frozenset[str]:
    """The ids of those events of a conversation that have a decision, or whose message has one.

    Raises:
        StorageUnavailable: it could not be read.
    """
    values = {
        "user_id": user_id,
        "conversation_id": conversation_id,
        "event_ids": [each.event_id for each in events],
        "message_ids": [each.message_id for each in events],
        "types": [each.type.value for each in events],
    }
    return frozenset(row[0] for row in await fetch_rows(source, DECIDED, values))
