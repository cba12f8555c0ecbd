"""The one commit of an event, and the audit's lists."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

import orjson
import psycopg

from db.pool import Connection, Pool, checkout
from worker.model import Decision, Event
from worker.snapshot import snapshot

MESSAGE_TEXT_CHARS: Final = 500  # seed 004: the first 500 characters
QUARANTINE: Final = timedelta(days=30)

RECORD: Final = """
WITH key AS (
    INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)
    VALUES (%(user_id)s, %(event_id)s, %(entry_id)s, %(id)s, %(created_at)s)
    ON CONFLICT DO NOTHING RETURNING user_id
), decision AS (
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
        user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at)
    SELECT key.user_id, %(event_id)s, %(id)s, %(conversation_id)s, %(message_id)s, %(scope)s,
        %(reply)s::text, %(created_at)s
    FROM key WHERE %(reply)s::text IS NOT NULL
    ON CONFLICT (user_id, event_id) DO NOTHING  -- retention took the key and the event came again
)
SELECT count(*) FROM key
"""
DECIDED: Final = "SELECT entry_id FROM event_keys WHERE user_id = %s AND event_id = %s"
DUPLICATE: Final = """
    INSERT INTO duplicates (entry_id, user_id, event_id, created_at) VALUES (%s, %s, %s, %s)
    ON CONFLICT DO NOTHING
"""
PARTITIONS: Final = "SELECT hushgate_ensure_partitions(%s, 3)"


class Recorded(StrEnum):
    """What a commit found."""

    NEW = "new"
    ALREADY = "already"
    DUPLICATE = "duplicate"


async def record(source: Pool, decision: Decision) -> Recorded:
    """Commit decision, history and outbox row in one statement, once per event.

    Raises:
        StorageUnavailable: nothing is known of the outcome; safe to repeat.
    """
    values = _values(decision)
    async with checkout(source) as connection:
        try:
            new = await _count(connection, values)
        except psycopg.errors.CheckViolation:  # no partition for this month yet
            await connection.execute(PARTITIONS, (decision.decided_at.date(),))
            new = await _count(connection, values)
        if new:
            return Recorded.NEW
    return await already(source, decision.event) or Recorded.ALREADY


async def already(source: Pool, event: Event) -> Recorded | None:
    """What is known of an event before any work is done on it; notes a further entry of the same event."""
    async with checkout(source) as connection:
        row = await (await connection.execute(DECIDED, (event.user_id, event.event_id))).fetchone()
        if row is None:
            return None
        if row[0] == event.entry_id:
            return Recorded.ALREADY
        values = (event.entry_id, event.user_id, event.event_id, event.received_at)
        await connection.execute(DUPLICATE, values)
        return Recorded.DUPLICATE


async def _count(connection: Connection, values: dict[str, Any]) -> int:
    row = await (await connection.execute(RECORD, values)).fetchone()
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
        "decision": decision.verdict.value,
        "confidence": decision.confidence,
        "reason_code": str(decision.reason_code),
        "reason": decision.reason,
        "matched_rule": decision.matched_rule,
        "message_text": event.text[:MESSAGE_TEXT_CHARS],
        "snapshot": orjson.dumps(snapshot(decision), option=orjson.OPT_NON_STR_KEYS).decode(),
        "degraded": decision.degraded,
        "quarantine": decision.quarantine,
        "rejected_draft": decision.rejected_draft,
        "remember": decision.remember,
        "reply": decision.reply,
    }
