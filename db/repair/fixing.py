"""Putting breaches right in Postgres: each change with its line of the access log, in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from db.access_log import LogEntry, LoggedAction, append_entry
from db.connection import Connection
from db.outbox import LOCK_AND_WAIT
from db.outgoing import events
from db.pool import Pool, checkout
from db.repair.finding import NO_LONGER_DUE
from db.repair.model import Breach, FoundBreach
from worker.webhooks.types import WebhookType

Look: TypeAlias = Callable[[], Awaitable[bool]]
LOCK_SUMS: Final = "SELECT pg_advisory_xact_lock(hashtextextended('hushgate repair of sums', 0))"
DECISION: Final = "d.id = %(subject)s::uuid AND d.created_at >= %(since)s AND d.created_at <= %(now)s"
COUNT_LOST: Final = """
    INSERT INTO purged AS p (table_name, rows) VALUES ('lost', %s)
    ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows
"""
FIXES: Final = MappingProxyType(
    {
        Breach.ENTRY_ENDED_TWICE: """
            WITH decided AS (
                SELECT 1 FROM event_keys
                WHERE created_at >= %(since)s AND entry_id = %(subject)s AND decision_id IS NOT NULL
            ), letter AS (
                DELETE FROM dead_letters WHERE entry_id = %(subject)s AND EXISTS (SELECT FROM decided)
                RETURNING 1
            ), again AS (
                DELETE FROM duplicates WHERE entry_id = %(subject)s AND (EXISTS (SELECT FROM decided)
                    OR EXISTS (SELECT FROM dead_letters WHERE entry_id = %(subject)s))
                RETURNING 1
            )
            SELECT 1 FROM letter UNION ALL SELECT 1 FROM again
        """,
        Breach.DECISION_WITHOUT_KEY: f"""
            INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)
            SELECT d.user_id, d.event_id, coalesce(d.snapshot_json ->> 'entry_id', ''), d.id, d.created_at
            FROM ai_decisions d WHERE {DECISION}
            ON CONFLICT DO NOTHING RETURNING 1
        """,
        Breach.DECISION_WITHOUT_REPLY: f"""
            WITH made AS (
                INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text,
                    created_at, delivered_at, cancelled_at, cancel_reason, cancel_settled)
                SELECT d.user_id, d.event_id, d.id, d.conversation_id, d.message_id, d.scope, coalesce((
                        SELECT m.text FROM messages m
                        WHERE m.user_id = d.user_id AND m.conversation_id = d.conversation_id
                            AND m.decision_id = d.id AND m.role = 'assistant'
                        ORDER BY m.id DESC LIMIT 1), ''),
                    d.created_at, CASE WHEN %(sent)s THEN %(now)s::timestamptz END,
                    CASE WHEN NOT %(sent)s THEN %(now)s::timestamptz END,
                    CASE WHEN NOT %(sent)s THEN 'too_late' END, NOT %(sent)s
                FROM ai_decisions d WHERE {DECISION}
                ON CONFLICT (user_id, event_id) DO NOTHING
                RETURNING user_id, conversation_id, decision_id
            ), unsent AS (
                DELETE FROM messages m USING made
                WHERE NOT %(sent)s AND m.user_id = made.user_id AND m.conversation_id = made.conversation_id
                    AND m.decision_id = made.decision_id AND m.role = 'assistant'
            )
            SELECT 1 FROM made
        """,
        Breach.REPLY_NOT_ON_STREAM: f"""
            UPDATE outbox o SET delivered_at = NULL
            WHERE decision_id = %(subject)s::uuid AND delivered_at >= %(since)s
                AND NOT coalesce({NO_LONGER_DUE}, false)
            RETURNING 1
        """,
        Breach.OUTGOING_NOT_ON_STREAM: f"""
            WITH named AS (
                SELECT split_part(%(subject)s, ' ', 1) AS type, split_part(%(subject)s, ' ', 2) AS key
            ), event AS (
                UPDATE outgoing_events e SET streamed_at = NULL FROM named
                WHERE e.user_id = %(account)s AND e.type = named.type AND e.key = named.key
                    AND e.type IN ({events.STREAM_TYPES}) AND e.withdrawn IS NULL
                    AND e.streamed_at IS NOT NULL
                RETURNING 1
            ), retraction AS (
                UPDATE retractions r SET delivered_at = NULL FROM named
                WHERE named.type = '{WebhookType.REPLY_RETRACTED}' AND r.review_id = named.key::uuid
                    AND r.delivered_at IS NOT NULL AND r.conversation_id <> ''
                RETURNING 1
            )
            SELECT 1 FROM event UNION ALL SELECT 1 FROM retraction
        """,
        Breach.UNSENT_REPLY_IN_HISTORY: """
            DELETE FROM messages m USING outbox o
            WHERE o.decision_id = %(subject)s::uuid AND o.user_id = %(account)s AND o.created_at >= %(since)s
                AND o.cancel_settled AND o.delivered_at IS NULL
                AND m.user_id = o.user_id AND m.conversation_id = o.conversation_id
                AND m.decision_id = o.decision_id AND m.role = 'assistant'
            RETURNING 1
        """,
        Breach.ORPHANED_HOLD: """
            DELETE FROM held_drafts h WHERE h.id = %(subject)s::bigint AND NOT EXISTS (
                SELECT FROM ai_decisions d WHERE d.id = h.decision_id AND d.created_at = h.created_at)
            RETURNING 1
        """,
        Breach.RETRY_LOST: """
            UPDATE dead_letters SET retried_at = NULL, retried_as = NULL
            WHERE entry_id = %(subject)s AND retried_at IS NOT NULL RETURNING 1
        """,
    }
)
"""One statement a kind; it changes only what is still wrong, and returns a row when it changed anything."""


async def fix(
    source: Pool,
    finding: FoundBreach,
    *,
    person: str,
    since: datetime,
    now: datetime,
    is_wrong: Look | None = None,
    was_sent: Look | None = None,
) -> bool:
    """Put one breach right; False when it is gone meanwhile.

    Relays and other repairs wait until it is done. What Redis says is asked while they wait: ``is_wrong``,
    whether it still shows the breach; ``was_sent``, whether the reply stream has the reply of the decision.
    """
    values: dict[str, Any] = {
        "subject": finding.subject, "account": finding.account, "since": since, "now": now
    }  # fmt: skip
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_AND_WAIT)
        await connection.execute(events.LOCK_AND_WAIT)
        if is_wrong is not None and not await is_wrong():
            return False
        values["sent"] = was_sent is not None and await was_sent()
        rows = await (await connection.execute(FIXES[finding.breach], values)).fetchall()
        if rows:
            await log_within(connection, finding, person)
    return bool(rows)


@asynccontextmanager
async def sums_locked(source: Pool) -> AsyncIterator[Connection]:
    """A transaction in which no other repair changes the sum of entries and endings."""
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_SUMS)
        yield connection


async def count_lost(
    source: Pool, finding: FoundBreach, missing: Callable[[], Awaitable[int]], *, person: str
) -> bool:
    """Count the entries that are missing now as gone without an ending; False when none is."""
    async with sums_locked(source) as connection:
        lost = await missing()
        if lost <= 0:
            return False
        await connection.execute(COUNT_LOST, (lost,))
        await log_within(connection, finding, person)
    return True


async def log_repair(source: Pool, finding: FoundBreach, person: str) -> None:
    """Append the line of a repair in Redis, before it is made: nothing is repaired without one."""
    async with checkout(source) as connection:
        await log_within(connection, finding, person)


async def log_within(connection: Connection, finding: FoundBreach, person: str) -> None:
    """Append the line of a repair in the transaction that makes it."""
    await append_entry(connection, log_entry(finding, person))


def log_entry(finding: FoundBreach, person: str) -> LogEntry:
    """The line of the access log; it has no user text."""
    detail = {"repaired": finding.breach.value, "subject": finding.subject, "found": finding.found}
    return LogEntry(action=LoggedAction.REPAIR, person=person, user_id=finding.account, detail=detail)
