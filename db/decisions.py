"""The one commit of an event: decision, history and outbox row in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import orjson
import psycopg

from db.answers.held import HELD, held_json
from db.conversation_owners import TAKE, OwnerCause, conversation_state
from db.costs.ledger import LEDGER, ledger_json
from db.escalations.closing import Closing, ClosingCause, close_escalation
from db.escalations.deletion import CLOSE_WITH_MESSAGE, EXPIRE_HELD
from db.escalations.opening import FOLLOW_UP, OPEN, opening_values
from db.outbox import CANCEL_OF_CONVERSATION, LOCK_CONVERSATION
from db.pool import Pool, PoolConnection, checkout
from db.webhooks.changes import MADE, OWNER, TAKEN, withdrawn
from worker.assessment.policies.reply_metadata import reply_metadata
from worker.model import (
    TRACE_FIELDS,
    ConversationState,
    Decision,
    Event,
    EventType,
    Json,
    MessageRole,
    Owner,
)
from worker.reasons import Reason
from worker.snapshot import snapshot_json

MESSAGE_TEXT_CHARS: Final = 500  # Silent Guardrails: the first 500 characters
QUARANTINE: Final = timedelta(days=30)
NO_TRACE: Final[dict[str, Json]] = dict.fromkeys(TRACE_FIELDS)

FREE: Final = """
    (%(reply)s::text IS NULL OR NOT EXISTS (
        SELECT FROM conversations WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s
            AND (people_until > %(created_at)s OR changes <> %(changes)s)))
"""
"""A reply is stored only while the AI owns the conversation, without a change of the owner since its turn."""
KEY: Final = f"""
    INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)
    SELECT %(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s) AND {FREE}
    ON CONFLICT DO NOTHING RETURNING user_id
"""
KEY_OF_BURIED: Final = f"""
    SELECT %(user_id)s::text AS user_id
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s) AND {FREE}
        AND hushgate_take_over_key(%(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s)
"""
REPLY_TO_MESSAGE: Final = """
    o.user_id = key.user_id AND o.conversation_id = %(conversation_id)s AND o.message_id = %(message_id)s
"""
COMMIT: Final = """
WITH key AS ({key}), decision AS (
    INSERT INTO ai_decisions (
        created_at, id, user_id, event_id, message_id, conversation_id, author_id, scope, decision,
        confidence, reason_code, reason, matched_rule, message_text, snapshot_json, degraded,
        rejection_reason)
    SELECT %(created_at)s, %(id)s, key.user_id, %(event_id)s, %(message_id)s, %(conversation_id)s,
        %(author_id)s, %(scope)s, %(decision)s, %(confidence)s, %(reason_code)s, %(reason)s,
        %(matched_rule)s, %(message_text)s, %(snapshot)s::jsonb, %(degraded)s,
        %(rejection_reason)s
    FROM key
), removed AS (
    DELETE FROM messages m USING key
    WHERE %(quarantine)s AND m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
    RETURNING m.role, m.text
), sealed AS (
    INSERT INTO quarantine (
        user_id, conversation_id, message_id, decision_id, role, text, created_at, expires_at)
    SELECT key.user_id, %(conversation_id)s, %(message_id)s, %(id)s, exchange.role, exchange.text,
        %(created_at)s, %(expires_at)s
    FROM key, (
        SELECT role, text FROM removed
        UNION ALL SELECT 'user', %(text)s::text
        UNION ALL SELECT 'assistant', %(rejected_draft)s::text) AS exchange
    WHERE %(quarantine)s AND exchange.text IS NOT NULL
), stored AS (
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
    SELECT key.user_id, %(conversation_id)s, %(message_id)s, %(id)s, exchange.role, exchange.text,
        %(created_at)s
    FROM key, (VALUES (1, %(role)s, %(text)s::text), (2, 'assistant', %(reply)s::text))
        AS exchange (place, role, text)
    WHERE %(remember)s AND exchange.text IS NOT NULL ORDER BY exchange.place
), reply AS (
    INSERT INTO outbox (
        user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
        draft, sources, send_before, changes, metadata, disclosure)
    SELECT key.user_id, %(event_id)s, %(id)s, %(conversation_id)s, %(message_id)s, %(scope)s,
        %(reply)s::text, %(created_at)s, %(draft)s::text, %(sources)s::jsonb, %(send_before)s::timestamptz,
        %(changes)s, %(metadata)s::jsonb, %(disclosure)s::text
    FROM key WHERE %(reply)s::text IS NOT NULL
    ON CONFLICT (user_id, event_id) DO NOTHING  -- retention took the key and the event came again
){change}
SELECT count(*){made} FROM key
"""
HANDOFF: Final = f""", handed AS ({TAKE.format(user_id="key.user_id", source="FROM key")}
    {OWNER}){TAKEN}"""
EDIT: Final = """, former AS (
    DELETE FROM messages m USING key
    WHERE m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
    RETURNING m.id, m.user_id, m.decision_id, m.role, m.text, m.created_at
), edited AS (
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
    SELECT user_id, %(conversation_id)s, %(message_id)s, decision_id, role,
        CASE role WHEN 'assistant' THEN text ELSE %(text)s END, created_at
    FROM former ORDER BY id
)"""
"""Message and reply are stored anew in their order: workers may not change a stored line."""
DELETION: Final = f""", deleted AS (
    DELETE FROM messages m USING key
    WHERE m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
), cancelled AS (
    UPDATE outbox o SET cancel_reason = coalesce(o.cancel_reason, 'message_deleted'),
        cancelled_at = coalesce(o.cancelled_at, %(created_at)s),
        retraction_id = coalesce(o.retraction_id, CASE WHEN %(retract)s THEN gen_random_uuid() END),
        retract_from = CASE WHEN %(retract)s THEN %(created_at)s ELSE o.retract_from END
    FROM key
    WHERE {REPLY_TO_MESSAGE} AND o.delivered_at IS NULL AND (o.cancel_reason IS NULL OR NOT o.cancel_settled)
), retracted AS (
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT o.decision_id, gen_random_uuid(), o.user_id, o.event_id, o.conversation_id, o.message_id, o.scope,
        %(created_at)s, %(created_at)s
    FROM outbox o, key
    WHERE %(retract)s AND {REPLY_TO_MESSAGE} AND o.delivered_at IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM retractions r WHERE r.decision_id = o.decision_id AND r.cancelled_at IS NULL)
    ORDER BY o.id
){withdrawn(REPLY_TO_MESSAGE, "message_deleted")}{CLOSE_WITH_MESSAGE}"""
"""A message may have several replies: a text at a handoff, answers. Each retraction has an id of its own."""

FLAGGED_EDIT: Final = f""", cancelled AS (
    UPDATE outbox o SET cancel_reason = 'message_flagged',
        cancelled_at = coalesce(o.cancelled_at, %(created_at)s)
    FROM key
    WHERE {REPLY_TO_MESSAGE} AND o.delivered_at IS NULL AND o.cancel_reason IS NULL
){withdrawn(REPLY_TO_MESSAGE, "message_flagged")}"""
"""The exchange leaves the history, so a reply that still waits must not enter the conversation."""

KNOWN: Final = """
    SELECT k.entry_id, EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s),
        c.people_until, c.changes
    FROM (VALUES (1)) AS one
    LEFT JOIN event_keys k
        ON k.user_id = %(user_id)s AND k.event_id = %(event_id)s AND k.decision_id IS NOT NULL
    LEFT JOIN conversations c
        ON c.user_id = %(user_id)s AND c.conversation_id = %(conversation_id)s
"""
DECIDED: Final = """
    SELECT event_id FROM event_keys WHERE user_id = %s AND event_id = ANY(%s) AND decision_id IS NOT NULL
"""
DUPLICATE: Final = """
    INSERT INTO duplicates (entry_id, user_id, event_id, created_at) VALUES (%s, %s, %s, %s)
    ON CONFLICT DO NOTHING
"""
PARTITIONS: Final = "SELECT hushgate_ensure_partitions(%s, 3)"
READ: Final = """
    LOCK TABLE ai_rules, messages, documents, chunks, embedders, chunk_embeddings, compiled_rules
    IN ACCESS SHARE MODE
"""
"""Locks the tables that the pipeline reads: a conflicting lock on them stops every event."""


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


async def record_decision(source: Pool, decision: Decision) -> Recorded:
    """Commit decision, history, owner and outbox row in one transaction, once per event.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    values = _values(decision)
    if await _committed(source, decision, KEY, values):
        return Recorded.NEW
    found = await load_event(source, decision.event, decision.decided_at)
    if found.outcome is not None:
        return found.outcome
    if await _committed(source, decision, KEY_OF_BURIED, values):
        return Recorded.NEW
    found = await load_event(source, decision.event, decision.decided_at)
    if found.outcome is not None:
        return found.outcome
    moved = found.conversation.owner is Owner.PEOPLE or found.conversation.changes != decision.changes
    return Recorded.OVERTAKEN if decision.reply is not None and moved else Recorded.ALREADY


async def load_event(source: Pool, event: Event, now: datetime) -> StoredEvent:
    """The stored outcome of an event and the owner of its conversation, in one query.

    A further entry of the same event is recorded as a duplicate.
    """
    async with checkout(source) as connection:
        values = {
            "user_id": event.user_id,
            "event_id": event.event_id,
            "entry_id": event.entry_id,
            "conversation_id": event.conversation_id,
        }
        row = await (await connection.execute(KNOWN, values)).fetchone()
        decided_entry, is_buried, people_until, changes = row or (None, False, None, None)
        outcome = None
        if is_buried:
            outcome = Recorded.BURIED
        elif decided_entry == event.entry_id:
            outcome = Recorded.ALREADY
        elif decided_entry is not None:
            noted = (event.entry_id, event.user_id, event.event_id, event.received_at)
            await connection.execute(DUPLICATE, noted)
            outcome = Recorded.DUPLICATE
        return StoredEvent(outcome=outcome, conversation=conversation_state(people_until, changes, now))


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


async def rehearse(connection: PoolConnection, decision: Decision) -> None:
    """Execute the commit of a decision and roll it back.

    The outer transaction commits, so the write-ahead log must reach the disk as well.
    """
    values = _values(decision)
    await connection.execute(PARTITIONS, (decision.decided_at.date(),))
    async with connection.transaction():
        await connection.execute(READ)
        async with connection.transaction() as commit:
            await connection.execute(_statement(decision, KEY), values)
            raise psycopg.Rollback(commit)


def _statement(decision: Decision, key: str) -> str:
    """The commit of a decision: changes of the history or of the owner have parts of their own."""
    change = ""
    if decision.people_until is not None:
        change = HANDOFF if decision.escalation is None else HANDOFF + OPEN
    elif decision.escalation is not None:
        change = FOLLOW_UP
    elif decision.reason_code == Reason.MESSAGE_EDITED:
        change = EDIT
    elif decision.reason_code == Reason.MESSAGE_DELETED:
        change = DELETION
    elif _is_flagged_edit(decision):
        change = FLAGGED_EDIT
    if decision.held:
        change += HELD
    if decision.costs:
        change += LEDGER
    return COMMIT.format(key=key, change=change, made=MADE)


def _is_flagged_edit(decision: Decision) -> bool:
    return decision.quarantine and decision.event.type is EventType.MESSAGE_EDITED


async def _committed(source: Pool, decision: Decision, key: str, values: dict[str, Any]) -> bool:
    statement = _statement(decision, key)
    async with checkout(source) as connection:
        try:
            return await _count(connection, decision, statement, values) > 0
        except psycopg.errors.CheckViolation:  # no partition for this month yet
            await connection.execute(PARTITIONS, (values["created_at"].date(),))
            return await _count(connection, decision, statement, values) > 0


async def _count(
    connection: PoolConnection, decision: Decision, statement: str, values: dict[str, Any]
) -> int:
    """Commit; a change of what a relay may send locks the conversation."""
    withdraws = decision.reason_code == Reason.MESSAGE_DELETED or _is_flagged_edit(decision)
    if decision.people_until is None and decision.escalation is None and not withdraws:
        row = await (await connection.execute(statement, values)).fetchone()
        return int(row[0]) if row else 0
    async with connection.transaction():
        await connection.execute(LOCK_CONVERSATION, values)
        row = await (await connection.execute(statement, values)).fetchone()
        if row and row[0] and decision.reason_code == Reason.MESSAGE_DELETED:
            await connection.execute(EXPIRE_HELD, values)
        if row and row[0] and decision.people_until is not None:
            await connection.execute(CANCEL_OF_CONVERSATION, values)
            await close_escalation(connection, _closing(decision))
    return int(row[0]) if row else 0


def _closing(decision: Decision) -> Closing:
    """What a handoff closes: a person's message answers, a new escalation replaces the one before."""
    event, by_person = decision.event, decision.event.type is EventType.AGENT_MESSAGE
    return Closing(
        user_id=event.user_id,
        conversation_id=event.conversation_id,
        cause=ClosingCause.ANSWERED if by_person else ClosingCause.REPLACED,
        closed_by=event.author_id if by_person else "",
        now=decision.decided_at,
        keep=decision.decision_id,
    )


def _values(decision: Decision) -> dict[str, Any]:
    event = decision.event
    is_agent = event.type is EventType.AGENT_MESSAGE
    return {
        "id": decision.decision_id,
        "created_at": decision.decided_at,
        "expires_at": decision.sealed_until or decision.decided_at + QUARANTINE,
        "user_id": event.user_id,
        "event_id": event.event_id,
        "entry_id": event.entry_id,
        "message_id": event.message_id,
        "conversation_id": event.conversation_id,
        "author_id": event.author_id,
        "scope": event.scope.value,
        "text": event.text,
        "decision": decision.kind.value,
        "confidence": decision.confidence,
        "reason_code": str(decision.reason_code),
        "reason": decision.reason,
        "matched_rule": decision.matched_rule,
        "message_text": event.text[:MESSAGE_TEXT_CHARS],
        "snapshot": orjson.dumps(snapshot_json(decision), option=orjson.OPT_NON_STR_KEYS).decode(),
        "degraded": decision.degraded,
        "rejection_reason": decision.rejection_reason,
        "quarantine": decision.quarantine,
        "rejected_draft": decision.rejected_draft,
        "remember": decision.remember,
        "reply": decision.reply,
        "draft": decision.draft,
        "sources": orjson.dumps([source.shape() for source in decision.sources]).decode(),
        "metadata": orjson.dumps(reply_metadata(decision)).decode(),
        "trace": orjson.dumps(NO_TRACE | (decision.trace.fields() if decision.trace else {})).decode(),
        "disclosure": decision.disclosure,
        "send_before": decision.send_before,
        "changes": decision.changes,
        "role": (MessageRole.AGENT if is_agent else MessageRole.USER).value,
        "retract": decision.retract_reply,
        "now": decision.decided_at,
        "people_until": decision.people_until,
        "cause": (OwnerCause.AGENT_MESSAGE if is_agent else OwnerCause.ESCALATION).value,
        "changed_by": event.author_id if is_agent else "",
        "agent_entry": event.entry_id if is_agent else None,
        "held": held_json(decision) if decision.held else None,
        "held_until": decision.held_until,
        "keep": decision.decision_id,
        "costs": ledger_json(decision),
        **opening_values(decision),
    }
