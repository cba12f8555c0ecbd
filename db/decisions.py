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
from db.candidates.recordings import RECORD, recording_text
from db.commits.rows import ROWS, CommitRow, commit_row, over_rows, rows_json
from db.conversation_owners import TAKE, OwnerCause, conversation_state
from db.costs.ledger import LEDGER, ledger_json
from db.escalations.closing import Closing, ClosingCause, close_escalation
from db.escalations.deletion import CLOSE_WITH_MESSAGE, EXPIRE_HELD
from db.escalations.opening import FOLLOW_UP, OPEN, opening_values
from db.outbox import CANCEL_OF_CONVERSATION, LOCK_CONVERSATION
from db.pool import Pool, PoolConnection, checkout
from db.webhooks.changes import MADE, OWNER, TAKEN, withdrawn
from worker.assessment.policies.reply_metadata import reply_metadata
from worker.grouping import GroupedCall, ask
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
KEY_FROM: Final = f"""
    INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)
    SELECT %(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s {{source}}
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s) AND {FREE} {{order}}
    ON CONFLICT DO NOTHING RETURNING user_id, decision_id AS id
"""
KEY: Final = KEY_FROM.format(source="", order="")
KEY_OF_BURIED: Final = f"""
    SELECT %(user_id)s::text AS user_id, %(id)s::uuid AS id
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s) AND {FREE}
        AND hushgate_take_over_key(%(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s)
"""
REPLY_TO_MESSAGE: Final = """
    o.user_id = key.user_id AND o.conversation_id = %(conversation_id)s AND o.message_id = %(message_id)s
"""
COMMIT: Final = f"""
WITH key AS ({{key}}), decision AS (
    INSERT INTO ai_decisions (
        created_at, id, user_id, event_id, message_id, conversation_id, author_id, scope, decision,
        confidence, reason_code, reason, matched_rule, message_text, snapshot_json, degraded,
        rejection_reason, candidate_id)
    SELECT %(created_at)s, %(id)s, key.user_id, %(event_id)s, %(message_id)s, %(conversation_id)s,
        %(author_id)s, %(scope)s, %(decision)s, %(confidence)s, %(reason_code)s, %(reason)s,
        %(matched_rule)s, %(message_text)s, %(snapshot)s::jsonb, %(degraded)s,
        %(rejection_reason)s, %(candidate_id)s::uuid
    FROM key
), removed AS (
    DELETE FROM messages m USING key
    WHERE %(quarantine)s AND m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
    RETURNING key.id, m.role, m.text
), sealed AS (
    INSERT INTO quarantine (
        user_id, conversation_id, message_id, decision_id, role, text, created_at, expires_at)
    SELECT key.user_id, %(conversation_id)s, %(message_id)s, %(id)s, exchange.role, exchange.text,
        %(created_at)s, %(expires_at)s
    FROM key, LATERAL (
        SELECT removed.role, removed.text FROM removed WHERE removed.id = key.id
        UNION ALL SELECT 'user', %(text)s::text
        UNION ALL SELECT 'assistant', %(rejected_draft)s::text) AS exchange
    WHERE %(quarantine)s AND exchange.text IS NOT NULL
), stored AS (
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
    SELECT key.user_id, %(conversation_id)s, %(message_id)s, %(id)s, exchange.role, exchange.text,
        %(created_at)s
    FROM key, LATERAL (VALUES (1, %(role)s, %(text)s::text), (2, 'assistant', %(reply)s::text))
        AS exchange (place, role, text)
    WHERE %(remember)s AND exchange.text IS NOT NULL ORDER BY key.id, exchange.place
), reply AS (
    INSERT INTO outbox (
        user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
        draft, sources, send_before, changes, metadata, disclosure)
    SELECT key.user_id, %(event_id)s, %(id)s, %(conversation_id)s, %(message_id)s, %(scope)s,
        %(reply)s::text, %(created_at)s, %(draft)s::text, %(sources)s::jsonb, %(send_before)s::timestamptz,
        %(changes)s, %(metadata)s::jsonb, %(disclosure)s::text
    FROM key WHERE %(reply)s::text IS NOT NULL
    ON CONFLICT (user_id, event_id) DO NOTHING  -- retention took the key and the event came again
), recorded AS ({RECORD}
){{change}}
SELECT array_agg(key.id){{made}} FROM key
"""
_KEYS_OF_ROWS: Final = KEY_FROM.format(
    source="FROM rows", order="ORDER BY rows.user_id, rows.event_id, rows.id"
)
_OVER_ROWS: Final = COMMIT.partition("{key}")[2].format(change=LEDGER, made=MADE)
TOGETHER: Final = f"""
WITH rows AS MATERIALIZED ({ROWS}), taken AS (
    {over_rows(_KEYS_OF_ROWS, "rows")}
), key AS (SELECT rows.* FROM rows JOIN taken USING (id){over_rows(_OVER_ROWS, "key")}
"""
"""``COMMIT`` over the rows of several events, for those that change neither history nor owner.

Keys are taken in their order, so that two groups with the same events cannot wait for each other.
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
    if await _first_commit(source, decision, values):
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


async def _first_commit(source: Pool, decision: Decision, values: dict[str, Any]) -> bool:
    """Commit, together with other events where the commit changes neither history nor owner."""
    if _change(decision):
        return await _committed(source, decision, KEY, values)
    return await ask(source, COMMITS, commit_row(values))


async def _commit_together(source: Pool, rows: Sequence[CommitRow]) -> tuple[bool, ...]:
    """Commit several events in one transaction; which of them were new."""
    values = {"rows": rows_json(rows)}
    async with checkout(source) as connection:
        try:
            found = await (await connection.execute(TOGETHER, values)).fetchone()
        except psycopg.errors.CheckViolation:  # no partition for this month yet
            await connection.execute(PARTITIONS, (rows[0].at.date(),))
            found = await (await connection.execute(TOGETHER, values)).fetchone()
    new = frozenset(found[0] or ()) if found else frozenset()
    return tuple(row.decision_id in new for row in rows)


COMMITS: Final = GroupedCall(together=_commit_together)


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


async def rehearse(connection: PoolConnection, decision: Decision) -> None:
    """Execute the commit of a decision and roll it back.

    The outer transaction commits, so the write-ahead log must reach the disk as well.
    """
    values = _values(decision)
    await connection.execute(PARTITIONS, (decision.decided_at.date(),))
    async with connection.transaction():
        await connection.execute(READ)
        async with connection.transaction() as commit:
            await connection.execute(TOGETHER, {"rows": rows_json([commit_row(values)])})
            raise psycopg.Rollback(commit)


def _statement(decision: Decision, key: str) -> str:
    """The commit of a decision."""
    ledger = LEDGER if decision.costs else ""
    return COMMIT.format(key=key, change=_change(decision) + ledger, made=MADE)


def _change(decision: Decision) -> str:
    """The parts of a commit that changes history or owner, or holds drafts; empty for any other."""
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
    return change


def _is_flagged_edit(decision: Decision) -> bool:
    return decision.quarantine and decision.event.type is EventType.MESSAGE_EDITED


async def _committed(source: Pool, decision: Decision, key: str, values: dict[str, Any]) -> bool:
    statement = _statement(decision, key)
    async with checkout(source) as connection:
        try:
            return await _commit(connection, decision, statement, values)
        except psycopg.errors.CheckViolation:  # no partition for this month yet
            await connection.execute(PARTITIONS, (values["created_at"].date(),))
            return await _commit(connection, decision, statement, values)


async def _commit(
    connection: PoolConnection, decision: Decision, statement: str, values: dict[str, Any]
) -> bool:
    """Commit, and say whether the event is new; a change of what a relay may send locks the conversation."""
    withdraws = decision.reason_code == Reason.MESSAGE_DELETED or _is_flagged_edit(decision)
    if decision.people_until is None and decision.escalation is None and not withdraws:
        row = await (await connection.execute(statement, values)).fetchone()
        return bool(row and row[0])
    async with connection.transaction():
        await connection.execute(LOCK_CONVERSATION, values)
        row = await (await connection.execute(statement, values)).fetchone()
        if row and row[0] and decision.reason_code == Reason.MESSAGE_DELETED:
            await connection.execute(EXPIRE_HELD, values)
        if row and row[0] and decision.people_until is not None:
            await connection.execute(CANCEL_OF_CONVERSATION, values)
            await close_escalation(connection, _closing(decision))
    return bool(row and row[0])


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
        "candidate_id": decision.candidate_id,
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
        "recording": recording_text(decision),
        "overtaken": decision.overtaken,
        **opening_values(decision),
    }
