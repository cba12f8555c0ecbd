"""The one commit of an event: decision, history and outbox row in one statement."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

import orjson
import psycopg

from db.pool import Pool, PoolConnection, checkout
from worker.model import Decision, Event
from worker.snapshot import snapshot_json

MESSAGE_TEXT_CHARS: Final = 500  # Silent Guardrails: the first 500 characters
QUARANTINE: Final = timedelta(days=30)

KEY: Final = """
    INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)
    SELECT %(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s)
    ON CONFLICT DO NOTHING RETURNING user_id
"""
KEY_OF_BURIED: Final = """
    SELECT %(user_id)s::text AS user_id
    WHERE NOT EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s)
        AND hushgate_take_over_key(%(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s)
"""
COMMIT: Final = """
WITH key AS ({key}), decision AS (
    INSERT INTO ai_decisions (
        created_at, id, user_id, event_id, message_id, conversation_id, author_id, scope, decision,
        confidence, reason_code, reason, matched_rule, message_text, snapshot_json, degraded)
    SELECT %(created_at)s, %(id)s, key.user_id, %(event_id)s, %(message_id)s, %(conversation_id)s,
        %(author_id)s, %(scope)s, %(decision)s, %(confidence)s, %(reason_code)s, %(reason)s,
        %(matched_rule)s, %(message_text)s, %(snapshot)s::jsonb, %(degraded)s
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
    FROM key, (VALUES (1, 'user', %(text)s::text), (2, 'assistant', %(reply)s::text))
        AS exchange (place, role, text)
    WHERE %(remember)s AND exchange.text IS NOT NULL ORDER BY exchange.place
), reply AS (
    INSERT INTO outbox (
        user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
        draft, sources, send_before)
    SELECT key.user_id, %(event_id)s, %(id)s, %(conversation_id)s, %(message_id)s, %(scope)s,
        %(reply)s::text, %(created_at)s, %(draft)s::text, %(sources)s::jsonb, %(send_before)s::timestamptz
    FROM key WHERE %(reply)s::text IS NOT NULL
    ON CONFLICT (user_id, event_id) DO NOTHING  -- retention took the key and the event came again
)
SELECT count(*) FROM key
"""
RECORD: Final = COMMIT.format(key=KEY)
RECORD_AFTER_LETTER: Final = COMMIT.format(key=KEY_OF_BURIED)
"""For an event with an earlier dead letter: replayed, or published again."""

KNOWN: Final = """
    SELECT k.entry_id, EXISTS (SELECT FROM dead_letters WHERE entry_id = %(entry_id)s)
    FROM (VALUES (1)) AS one LEFT JOIN event_keys k
        ON k.user_id = %(user_id)s AND k.event_id = %(event_id)s AND k.decision_id IS NOT NULL
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
    """

    NEW = "new"
    ALREADY = "already"
    DUPLICATE = "duplicate"
    BURIED = "buried"


async def record_decision(source: Pool, decision: Decision) -> Recorded:
    """Commit decision, history and outbox row in one statement, once per event.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    values = _values(decision)
    if await _committed(source, RECORD, values):
        return Recorded.NEW
    if (found := await find_outcome(source, decision.event)) is not None:
        return found
    if await _committed(source, RECORD_AFTER_LETTER, values):
        return Recorded.NEW
    return await find_outcome(source, decision.event) or Recorded.ALREADY


async def find_outcome(source: Pool, event: Event) -> Recorded | None:
    """The stored outcome of an event, or None; records a further entry of the same event as a duplicate."""
    async with checkout(source) as connection:
        values = {"user_id": event.user_id, "event_id": event.event_id, "entry_id": event.entry_id}
        row = await (await connection.execute(KNOWN, values)).fetchone()
        decided_entry, is_buried = row or (None, False)
        if is_buried:
            return Recorded.BURIED
        if decided_entry is None:
            return None
        if decided_entry == event.entry_id:
            return Recorded.ALREADY
        repeated = (event.entry_id, event.user_id, event.event_id, event.received_at)
        await connection.execute(DUPLICATE, repeated)
        return Recorded.DUPLICATE


async def rehearse(connection: PoolConnection, decision: Decision) -> None:
    """Execute the commit of a decision and roll it back.

    The outer transaction commits, so the write-ahead log must reach the disk as well.
    """
    values = _values(decision)
    await connection.execute(PARTITIONS, (decision.decided_at.date(),))
    async with connection.transaction():
        await connection.execute(READ)
        async with connection.transaction() as commit:
            await connection.execute(RECORD, values)
            raise psycopg.Rollback(commit)


async def _committed(source: Pool, statement: str, values: dict[str, Any]) -> bool:
    async with checkout(source) as connection:
        try:
            return await _count(connection, statement, values) > 0
        except psycopg.errors.CheckViolation:  # no partition for this month yet
            await connection.execute(PARTITIONS, (values["created_at"].date(),))
            return await _count(connection, statement, values) > 0


async def _count(connection: PoolConnection, statement: str, values: dict[str, Any]) -> int:
    row = await (await connection.execute(statement, values)).fetchone()
    return int(row[0]) if row else 0


def _values(decision: Decision) -> dict[str, Any]:
    event = decision.event
    return {
        "id": decision.decision_id,
        "created_at": decision.decided_at,
        "expires_at": decision.decided_at + QUARANTINE,
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
        "quarantine": decision.quarantine,
        "rejected_draft": decision.rejected_draft,
        "remember": decision.remember,
        "reply": decision.reply,
        "draft": decision.draft,
        "sources": orjson.dumps([source.shape() for source in decision.sources]).decode(),
        "send_before": decision.send_before,
    }
