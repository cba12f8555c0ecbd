"""Which texts wait for moderation, and what a late result changes: each exchange is settled once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.access_log import LoggedAction
from db.commits.retracting import retract_replies
from db.connection import Connection
from db.outbox import LOCK_CONVERSATION
from db.pool import Pool, checkout, fetch_rows
from db.rows import first_value, row_as, rows_as
from worker.held_texts import sealed_until
from worker.late_moderation import LateCheck, LateResult
from worker.model import Account, MessageRole

CLAIM_FOR: Final = timedelta(minutes=1)
"""A check takes seconds; the claim of a killed worker ends then."""
STORE_UNMODERATED: Final = """, unmoderated AS (
    INSERT INTO unmoderated_texts (
        decision_id, decided_at, user_id, conversation_id, message_id, author_id, event_id, scope, roles)
    SELECT %(id)s, %(created_at)s, key.user_id, %(conversation_id)s, %(message_id)s, %(author_id)s,
        %(event_id)s, %(scope)s, %(unmoderated)s::text[]
    FROM key
)"""
"""The part of the commit of an exchange that passed without moderation."""
CLAIM: Final = """
    UPDATE unmoderated_texts SET claimed_until = %(until)s WHERE decision_id IN (
        SELECT decision_id FROM unmoderated_texts
        WHERE checked_at IS NULL AND (claimed_until IS NULL OR claimed_until <= %(now)s)
        ORDER BY decided_at DESC LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
    RETURNING decision_id, decided_at, user_id, conversation_id, message_id, author_id, event_id, scope, roles
"""
"""The newest first: their conversations go on, so a retraction and a clean history matter most there."""
PAUSE: Final = """
    UPDATE unmoderated_texts SET claimed_until = %(until)s WHERE user_id = %(user_id)s AND checked_at IS NULL
"""
TEXTS: Final = """
    SELECT role, text FROM messages
    WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s AND message_id = %(message_id)s
        AND role = ANY(%(roles)s) ORDER BY id
"""
_CHECKED: Final = """
    UPDATE unmoderated_texts SET checked_at = %(now)s, result = %(result)s, matched_rule = %(matched_rule)s
    WHERE decision_id = %(decision_id)s AND checked_at IS NULL RETURNING user_id, decision_id
"""
SETTLE: Final = f"WITH key AS ({_CHECKED}) SELECT count(*) FROM key"
SETTLE_FLAGGED: Final = f"""
WITH key AS ({_CHECKED}), removed AS (
    DELETE FROM messages m USING key
    WHERE m.user_id = key.user_id AND m.conversation_id = %(conversation_id)s
        AND m.message_id = %(message_id)s
    RETURNING m.id, m.user_id, m.conversation_id, m.message_id, m.decision_id, m.role, m.text, m.created_at
), sealed AS (
    INSERT INTO quarantine (
        user_id, conversation_id, message_id, decision_id, role, text, created_at, expires_at, place)
    SELECT user_id, conversation_id, message_id, decision_id, role, text, created_at, %(expires_at)s, id
    FROM removed ORDER BY id
), logged AS (
    INSERT INTO access_log (person, action, user_id, decision_id, detail)
    SELECT 'hushgate', '{LoggedAction.LATE_MODERATION}', key.user_id, key.decision_id,
        jsonb_build_object('result', %(result)s::text, 'matched_rule', %(matched_rule)s::text,
                           'retract', %(retract)s::boolean)
    FROM key
){retract_replies("message_flagged", at="%(now)s", wanted="%(retract)s AND o.origin <> 'person'")}
SELECT count(*) FROM key
"""
CHECK: Final = sa.text(
    "SELECT roles, checked_at, result, matched_rule FROM unmoderated_texts WHERE decision_id = :decision"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmoderated:
    """An exchange that passed without moderation; ``roles`` are ``MessageRole`` of the texts to check."""

    decision_id: UUID
    decided_at: datetime
    user_id: str
    conversation_id: str
    message_id: str
    author_id: str
    event_id: str
    scope: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRecord:
    """What moderation found later; ``result`` is None while the texts wait."""

    roles: tuple[str, ...]
    checked_at: datetime | None
    result: str | None
    matched_rule: str | None


async def claim_unmoderated(source: Pool, now: datetime, limit: int) -> tuple[Unmoderated, ...]:
    """The newest exchanges that wait and that no other worker checks, claimed for ``CLAIM_FOR``.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    async with checkout(source) as connection:
        values = {"now": now, "until": now + CLAIM_FOR, "limit": limit}
        return await rows_as(connection, Unmoderated, CLAIM, values)


async def pause_account(source: Pool, user_id: str, until: datetime) -> None:
    """Let no worker claim exchanges of an account until then, so that those of others come first.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    async with checkout(source) as connection:
        await connection.execute(PAUSE, {"user_id": user_id, "until": until})


async def load_texts(source: Pool, exchange: Unmoderated) -> Mapping[MessageRole, str]:
    """The stored texts that were not moderated; empty once they were erased, sealed or deleted.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    rows = await fetch_rows(source, TEXTS, {**_place(exchange), "roles": list(exchange.roles)})
    return {MessageRole(role): text for role, text in rows}


async def settle(
    source: Pool, exchange: Unmoderated, check: LateCheck, account: Account, now: datetime
) -> bool:
    """Store what moderation found; False when another worker did before.

    A flagged exchange leaves the stored history, its waiting reply is discarded, and a delivered reply is
    retracted where the account wants that.

    Raises:
        StorageUnavailable: safe to repeat.
    """
    values = {
        **_place(exchange),
        "decision_id": exchange.decision_id,
        "now": now,
        "result": check.result.value,
        "matched_rule": check.matched_rule,
        "retract": account.retract_flagged,
        "expires_at": sealed_until(account, now),
    }
    async with checkout(source) as connection:
        if check.result is not LateResult.FLAGGED:
            return bool(await first_value(connection, SETTLE, values))
        async with connection.transaction():
            await connection.execute(LOCK_CONVERSATION, values)
            return bool(await first_value(connection, SETTLE_FLAGGED, values))


async def late_record(connection: Connection, decision_id: UUID) -> LateRecord | None:
    """What moderation found later; None for a decision whose texts were moderated."""
    return await row_as(connection, LateRecord, CHECK, {"decision": decision_id})


def _place(exchange: Unmoderated) -> dict[str, Any]:
    return {name: getattr(exchange, name) for name in ("user_id", "conversation_id", "message_id")}
