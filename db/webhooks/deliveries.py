"""Deliveries of an endpoint or a reply as people see them, and sending one again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db import access_log
from db.access_log import LogEntry
from db.connection import Connection
from db.pool import Pool, checkout, fetch_as, fetch_one_as
from db.rows import first_value, rows_as
from db.webhooks.queue import LOCK_QUEUE, reason_not_to_send
from worker.webhooks.types import MOST_ENDPOINTS, WebhookType

COLUMNS: Final = """
    d.id, d.endpoint_id, e.user_id, e.conversation_id, e.type, e.key, e.created_at AS happened_at, d.state,
    d.attempts, d.next_attempt_at, d.lease_until, d.may_have_arrived, d.cancel_reason, d.error, d.status,
    d.duration_ms, d.attempted_at, d.ended_at
"""
LIST: Final = f"""
    SELECT {COLUMNS} FROM webhook_deliveries d JOIN outgoing_events e ON e.id = d.event_row
    WHERE {{of_endpoint}} (%(before)s::bigint IS NULL OR d.id < %(before)s)
        AND (%(state)s::text IS NULL OR d.state = %(state)s)
    ORDER BY d.id DESC LIMIT %(limit)s
"""
"""One endpoint has an index of its own, which a condition for one or all would not use."""
GET: Final = f"""
    SELECT {COLUMNS}, e.body, d.answer
    FROM webhook_deliveries d JOIN outgoing_events e ON e.id = d.event_row WHERE d.id = %(id)s
"""
REPLAY: Final = """
    UPDATE webhook_deliveries d
    SET state = 'waiting', attempts = 0, cancel_reason = NULL, ended_at = NULL, lease_until = NULL,
        may_have_arrived = d.may_have_arrived OR d.state = 'succeeded',
        next_attempt_at = CASE WHEN d.conversation_id = '' OR NOT EXISTS (
            SELECT FROM webhook_deliveries b
            WHERE b.endpoint_id = d.endpoint_id AND b.user_id = d.user_id
                AND b.conversation_id = d.conversation_id AND b.state = 'waiting')
        THEN %(now)s::timestamptz END
    WHERE d.id = %(id)s AND d.state <> 'waiting'
"""
"""After the attempts of the conversation that run or wait, of which the earliest event comes first."""
HURRY: Final = """
    UPDATE webhook_deliveries SET next_attempt_at = %(now)s
    WHERE id = %(id)s AND state = 'waiting' AND next_attempt_at > %(now)s AND lease_until IS NULL
"""
"""A delivery that waits for its next attempt is sent now."""
OF_REPLY: Final = f"""
    SELECT d.state, d.cancel_reason, d.may_have_arrived
    FROM outgoing_events e JOIN webhook_deliveries d ON d.event_row = e.id
    WHERE e.user_id = %(user_id)s AND e.type = '{WebhookType.REPLY_CREATED}' AND e.key = %(key)s
    ORDER BY d.id LIMIT {MOST_ENDPOINTS}
"""
UNDER_WAY: Final = "under_way"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """A delivery without its texts.

    Attributes:
        id: a number; later deliveries have greater numbers.
        key: of the event; with account and type it makes the ``webhook-id``.
        next_attempt_at: None while it waits for an earlier event of the conversation, and when it ended.
        may_have_arrived: an attempt had no answer.
    """

    id: int
    endpoint_id: UUID
    user_id: str
    conversation_id: str
    type: str
    key: str
    happened_at: datetime
    state: str
    attempts: int
    next_attempt_at: datetime | None
    lease_until: datetime | None
    may_have_arrived: bool
    cancel_reason: str | None
    error: str | None
    status: int | None
    duration_ms: float | None
    attempted_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeWebhookDelivery(WebhookDelivery):
    """A delivery with what is sent and the start of the last answer."""

    body: dict[str, Any]
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDelivery:
    """A delivery of a reply to one endpoint.

    Attributes:
        cancel_reason: why it is not sent; None unless ``state`` is ``cancelled``.
        may_have_arrived: an attempt had no answer.
    """

    state: str
    cancel_reason: str | None
    may_have_arrived: bool


async def list_deliveries(
    source: Pool, endpoint_id: UUID | None, *, limit: int, state: str | None = None, before: int | None = None
) -> tuple[WebhookDelivery, ...]:
    """The newest deliveries of an endpoint, or of all, those with a number below ``before``."""
    values = {"endpoint": endpoint_id, "limit": limit, "state": state, "before": before}
    statement = LIST.format(of_endpoint="d.endpoint_id = %(endpoint)s AND" if endpoint_id else "")
    return tuple(await fetch_as(source, WebhookDelivery, statement, values))


async def get_delivery(source: Pool, delivery_id: int) -> WholeWebhookDelivery | None:
    """One delivery; None without it."""
    return await fetch_one_as(source, WholeWebhookDelivery, GET, {"id": delivery_id})


async def replay_delivery(source: Pool, delivery_id: int, now: datetime, *, logged: LogEntry) -> str | None:
    """Send a delivery again with the same ``webhook-id``; a refusal leaves it as it is.

    Returns:
        None when it waits to be sent, ``UNDER_WAY`` while an attempt runs or it is gone, otherwise the cancel
        reason for which it must not be sent.
    """
    values = {"id": delivery_id, "now": now}
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_QUEUE)
        if reason := await reason_not_to_send(connection, delivery_id, now):
            return reason
        changed = (await connection.execute(REPLAY, values)).rowcount
        changed = changed or (await connection.execute(HURRY, values)).rowcount
        if not changed:
            return UNDER_WAY
        await access_log.append_entry(connection, logged)
    return None


async def deliveries_of_reply(
    connection: Connection, user_id: str, event_id: str
) -> tuple[ReplyDelivery, ...]:
    """The deliveries of the reply to an event, oldest first; without those of removed endpoints."""
    values = {"user_id": user_id, "key": event_id}
    return await rows_as(connection, ReplyDelivery, OF_REPLY, values)


IS_BLOCKED: Final = """
    n.state = 'waiting' AND n.next_attempt_at IS NULL AND NOT EXISTS (
        SELECT FROM webhook_deliveries b
        WHERE b.endpoint_id = n.endpoint_id AND b.user_id = n.user_id
            AND b.conversation_id = n.conversation_id AND b.state = 'waiting'
            AND (b.next_attempt_at IS NOT NULL OR b.event_row < n.event_row))
"""
"""True of the earliest waiting delivery of a conversation in which none has a time."""
ANY_BLOCKED: Final = f"SELECT EXISTS (SELECT FROM webhook_deliveries n WHERE {IS_BLOCKED})"
UNBLOCK: Final = f"UPDATE webhook_deliveries n SET next_attempt_at = %(now)s WHERE {IS_BLOCKED}"


async def unblock_conversations(source: Pool, now: datetime) -> int:
    """Make the next deliveries due after retention or a person deleted the event before them; how many."""
    async with checkout(source) as connection:
        if not await first_value(connection, ANY_BLOCKED):
            return 0
        async with connection.transaction():
            await connection.execute(LOCK_QUEUE)
            return (await connection.execute(UNBLOCK, {"now": now})).rowcount
