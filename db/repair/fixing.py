"""Putting breaches right in Postgres: each change with its line of the access log, in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, TypeAlias

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
COUNT_LOST: Final = """
    INSERT INTO purged AS p (table_name, rows) VALUES ('lost', %s)
    ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows
"""
FIXES: Final = {
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
    Breach.RETRY_LOST: """
        UPDATE dead_letters SET retried_at = NULL, retried_as = NULL
        WHERE entry_id = %(subject)s AND retried_at IS NOT NULL RETURNING 1
    """,
}
"""One statement a kind; it changes only what is still wrong, and returns a row when it changed anything."""


async def fix(source: Pool, finding: FoundBreach, is_wrong: Look, *, person: str, since: datetime) -> bool:
    """Put one breach right; False when the breach is gone meanwhile.

    Relays and other repairs wait until it is done. ``is_wrong`` is asked while they wait: whether Redis still
    shows the breach.
    """
    values = {"subject": finding.subject, "account": finding.account, "since": since}
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_AND_WAIT)
        await connection.execute(events.LOCK_AND_WAIT)
        if not await is_wrong():
            return False
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
    """Count the entries that are missing now as gone without an ending; False without missing entries."""
    async with sums_locked(source) as connection:
        lost = await missing()
        if lost <= 0:
            return False
        await connection.execute(COUNT_LOST, (lost,))
        await log_within(connection, finding, person)
    return True


async def log_repair(source: Pool, finding: FoundBreach, person: str) -> None:
    """Append the line of a repair in Redis, before the repair: nothing is repaired without a line."""
    async with checkout(source) as connection:
        await log_within(connection, finding, person)


async def log_within(connection: Connection, finding: FoundBreach, person: str) -> None:
    """Append the line of a repair in the transaction that makes it."""
    await append_entry(connection, log_entry(finding, person))


def log_entry(finding: FoundBreach, person: str) -> LogEntry:
    """The line of the access log; it has no user text."""
    detail = {"repaired": finding.breach.value, "subject": finding.subject, "found": finding.found}
    return LogEntry(action=LoggedAction.REPAIR, person=person, user_id=finding.account, detail=detail)
