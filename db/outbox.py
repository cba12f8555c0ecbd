"""The outbox: approved replies that wait for the reply stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from psycopg.rows import DictRow

from db.connection import Connection
from db.outgoing.locked_batch import LockedBatch, begun
from db.pool import Pool, checkout
from db.rows import all_rows, from_row, rows_as
from db.webhooks.subscribed import SUBSCRIBED
from worker.webhooks.types import WebhookType

LOCK: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('hushgate outbox', 0))"
HOLD_S: Final = 6.0
"""Postgres ends the transaction and the lock of a relay that is idle for this long: the relay is frozen."""
LOCK_WITH_TIMEOUT: Final = (
    f"{LOCK}, set_config('idle_in_transaction_session_timeout', '{round(HOLD_S * 1000)}', true)"
)
CONVERSATION_LOCK: Final = (
    "hashtextextended('hushgate conversation ' || user_id || ' ' || conversation_id, 0)"
)
LOCK_CONVERSATION: Final = f"""
    SELECT pg_advisory_xact_lock({CONVERSATION_LOCK}),
        set_config('idle_in_transaction_session_timeout', '{round(HOLD_S * 1000)}', true)
    FROM (SELECT %(user_id)s::text AS user_id, %(conversation_id)s::text AS conversation_id) AS one
"""
"""No relay delivers a reply of this conversation until the transaction ends; at most ``HOLD_S``."""
LOCK_AND_WAIT: Final = LOCK_WITH_TIMEOUT.replace("pg_try_advisory_xact_lock", "pg_advisory_xact_lock")
"""Blocks relays until this transaction ends. A frozen holder loses the lock after ``HOLD_S``."""
OVERTAKEN: Final = """
    (o.origin <> 'person' AND EXISTS (
        SELECT FROM conversations c
        WHERE c.user_id = o.user_id AND c.conversation_id = o.conversation_id
            AND (c.people_until > o.created_at AND c.cause <> 'release' AND o.origin = 'ai'
                OR c.changes <> o.changes)))
"""
"""True of a reply of the AI whose conversation people own, or owned since its decision.

The commit compares the same times: with a ``now`` of another clock, a relay would hold back what it allowed.
Also of a text at a handoff after the owner changed again: it announces that handoff only.
"""
FIND_WAITING: Final = f"""
    WITH found AS MATERIALIZED (
        SELECT is_over, id, user_id, event_id,
            pg_try_advisory_xact_lock_shared({CONVERSATION_LOCK}) AS is_locked
        FROM (
            SELECT id, user_id, event_id, conversation_id,
                cancelled_at IS NOT NULL OR coalesce(send_before < %(now)s, false) OR {OVERTAKEN} AS is_over
            FROM outbox o WHERE delivered_at IS NULL AND NOT cancel_settled ORDER BY id LIMIT %(limit)s
        ) AS oldest
    )
    SELECT is_over, id, user_id, event_id, is_locked, set_config('hushgate.waiting', (
        SELECT string_agg(id::text, ',') FROM found WHERE is_locked AND NOT is_over), true) FROM found
"""
"""The oldest replies: those that wait, and those to settle: too late, forestalled by people, or cancelled.

``STILL_WAITING`` reads those that wait and are locked. Simple, because every relay plans it anew.
"""
FOUND_WAITING: Final = "string_to_array(current_setting('hushgate.waiting', true), ',')::bigint[]"
SET_CANCELLED: Final = """
    UPDATE outbox SET cancelled_at = %(now)s,
        cancel_reason = CASE WHEN send_before < %(now)s THEN 'too_late' ELSE 'taken_over' END
    WHERE id = ANY(%(ids)s) AND cancelled_at IS NULL
"""
CANCEL: Final = """
    WITH cancelled AS (
        UPDATE outbox SET cancel_settled = true WHERE id = ANY(%(ids)s)
        RETURNING user_id, conversation_id, decision_id
    )
    DELETE FROM messages m USING cancelled
    WHERE m.user_id = cancelled.user_id AND m.conversation_id = cancelled.conversation_id
        AND m.decision_id = cancelled.decision_id AND m.role = 'assistant'
"""
"""A cancelled reply leaves the stored history."""
RECORD_SENT: Final = """
    WITH kept AS (
        UPDATE outbox o SET delivered_at = %(now)s, cancelled_at = NULL, cancel_reason = NULL,
            sent_as = nullif(sent.decision_id, o.decision_id)
        FROM outbox former JOIN unnest(%(ids)s::bigint[], %(decisions)s::uuid[]) AS sent (id, decision_id)
            ON sent.id = former.id
        WHERE former.id = o.id
        RETURNING o.*, former.cancelled_at AS requested_at
    )
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT decision_id, retraction_id, user_id, event_id, conversation_id, message_id, scope, requested_at,
        retract_from
    FROM kept WHERE retraction_id IS NOT NULL ORDER BY id
    ON CONFLICT DO NOTHING
"""
"""A reply whose cancelling came after a relay had sent it; it is retracted where that was asked for."""
REPLIES: Final = f"""
    SELECT id AS row_id, user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
           sources, metadata, draft IS NOT NULL AS ai_generated, origin = 'handoff' AS handoff,
           CASE WHEN disclosure IS NOT NULL
                AND row_number() OVER (
                    PARTITION BY user_id, conversation_id, disclosure IS NULL ORDER BY id) = 1
                AND NOT EXISTS (
                    SELECT FROM outbox e WHERE e.user_id = o.user_id AND e.conversation_id = o.conversation_id
                        AND e.delivered_at IS NOT NULL AND e.disclosure IS NOT NULL)
                THEN disclosure END AS disclosure,
           {SUBSCRIBED.format(account="o.user_id", type=WebhookType.REPLY_CREATED)} AS is_subscribed,
           CASE WHEN cancel_reason IN ('message_deleted', 'message_flagged') THEN cancel_reason
                END AS withdrawn
    FROM outbox o
    WHERE id = ANY(%(ids)s) AND delivered_at IS NULL
"""
"""The first delivered reply of a conversation has the disclosure; relays deliver one after the other."""
STILL_WAITING: Final = f"{REPLIES} AND cancelled_at IS NULL AND NOT {OVERTAKEN} ORDER BY id".replace(
    "%(ids)s", FOUND_WAITING
)
"""Read once more under the locks: a takeover may have been stored after the first look."""
CANCEL_OF_CONVERSATION: Final = """
    UPDATE outbox SET cancelled_at = %(now)s, cancel_reason = 'taken_over'
    WHERE delivered_at IS NULL AND cancelled_at IS NULL
        AND user_id = %(user_id)s AND conversation_id = %(conversation_id)s
        AND origin <> 'person' AND decision_id IS DISTINCT FROM %(keep)s::uuid
"""
"""A request: the next relay finds out whether a reply was sent before; see ``cancel_settled``.

``keep`` is the decision whose text at a handoff stays, or null.
"""
FIND_OF_DECISIONS: Final = f"""
    SELECT id, user_id, event_id, pg_try_advisory_xact_lock_shared({CONVERSATION_LOCK}) AS is_locked
    FROM outbox
    WHERE decision_id = ANY(%(decisions)s) AND delivered_at IS NULL AND NOT cancel_settled
"""
SET_SENT_AS: Final = """
    UPDATE outbox o SET sent_as = sent.decision_id
    FROM unnest(%s::uuid[], %s::bigint[]) AS sent (decision_id, id) WHERE o.id = sent.id
"""
SET_DELIVERED: Final = "UPDATE outbox SET delivered_at = %s WHERE id = ANY(%s::bigint[])"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingReply:
    """An approved reply that waits for delivery.

    Attributes:
        sources: its cited passages in the form of ``worker.model.Source.shape``.
        metadata: as ``reply_metadata`` made it.
        disclosure: the text to send before the reply, or None when the conversation had one.
        ai_generated: whether a model wrote ``text``; False for a fallback text.
        handoff: whether it is the account's text at a handoff.
        is_subscribed: whether an endpoint receives replies of the account.
        withdrawn: why webhooks must not send it, although the stream has it; None: they may.
    """

    row_id: int
    user_id: str
    event_id: str
    decision_id: UUID
    conversation_id: str
    message_id: str
    scope: str
    text: str
    created_at: datetime
    sources: list[dict[str, int | str]]
    metadata: dict[str, Any]
    disclosure: str | None
    ai_generated: bool
    handoff: bool
    is_subscribed: bool
    withdrawn: str | None = None


WereSent: TypeAlias = Callable[[Sequence[tuple[str, str]]], Awaitable[Sequence[UUID | None] | None]]
"""By account and event: the decision whose reply is on the stream; None when the relay may no longer act."""


@asynccontextmanager
async def waiting_replies(
    source: Pool, limit: int, now: datetime, were_sent: WereSent
) -> AsyncIterator[LockedBatch[WaitingReply] | None]:
    """The oldest waiting replies in one transaction; None while another relay acts.

    First settles the cancelled ones: a relay that died may have sent a reply without recording it.
    The transaction ends after ``HOLD_S`` without a statement, so that a frozen relay blocks no other.
    """
    async with checkout(source) as connection:  # which commits at its end
        values = {"limit": limit, "now": now}
        looked = await begun(connection, LOCK_WITH_TIMEOUT, FIND_WAITING, STILL_WAITING, values=values)
        if looked is None:
            yield None
            return
        found, waiting = looked
        over = [row for row in found if row["is_over"] and row["is_locked"]]
        sent_before: list[WaitingReply] | None = []
        if over:
            sent_before = await _settle(connection, over, now, were_sent)
            waiting = list(await all_rows(connection, STILL_WAITING))  # one sent may have had the disclosure
        if sent_before is None:
            yield None
            return
        rows = [from_row(WaitingReply, row) for row in waiting]
        yield LockedBatch(
            connection,
            rows,
            SET_DELIVERED,
            set_sent_as=SET_SENT_AS,
            complete=all(row["is_locked"] for row in found),
            settled=len(over),
            sent_before=sent_before,
        )


@asynccontextmanager
async def record_sent(
    source: Pool, decisions: Sequence[UUID], now: datetime, were_sent: WereSent
) -> AsyncIterator[LockedBatch[WaitingReply] | None]:
    """Record the waiting replies of these decisions that are on the stream as delivered, in one transaction.

    The batch has them in ``sent_before``. None while another relay acts. Every other reply stays as it is,
    and a reply whose conversation is being taken over is left out.
    """
    async with checkout(source) as connection:  # which commits at its end
        values = {"decisions": list(decisions)}
        looked = await begun(connection, LOCK_WITH_TIMEOUT, FIND_OF_DECISIONS, values=values)
        if looked is None:
            yield None
            return
        kept = await _sent([row for row in looked[0] if row["is_locked"]], were_sent)
        if kept is None:
            yield None
            return
        recorded = await _record_sent(connection, kept, now)
        yield LockedBatch[WaitingReply](connection, (), SET_DELIVERED, sent_before=recorded)


async def _settle(
    connection: Connection, over: Sequence[DictRow], now: datetime, were_sent: WereSent
) -> list[WaitingReply] | None:
    """Cancel replies, record of each whether it was sent before, and return those that were.

    None when the relay may no longer act.
    """
    ids = [row["id"] for row in over]
    await connection.execute(SET_CANCELLED, {"ids": ids, "now": now})
    kept = await _sent(over, were_sent)
    if kept is None:
        return None
    await connection.execute(CANCEL, {"ids": [each for each in ids if each not in kept]})
    return await _record_sent(connection, kept, now)


async def _sent(rows: Sequence[DictRow], were_sent: WereSent) -> dict[int, UUID] | None:
    """The rows that were put on the stream, each with the decision that the stream has."""
    found = await were_sent([(row["user_id"], row["event_id"]) for row in rows])
    if found is None:
        return None
    return {row["id"]: sent for row, sent in zip(rows, found, strict=True) if sent is not None}


async def _record_sent(connection: Connection, kept: Mapping[int, UUID], now: datetime) -> list[WaitingReply]:
    """Record replies that were sent before as delivered, and return them."""
    values = {"ids": list(kept), "decisions": list(kept.values()), "now": now}
    replies = await rows_as(connection, WaitingReply, f"{REPLIES} ORDER BY id", values)
    await connection.execute(RECORD_SENT, values)
    return list(replies)
