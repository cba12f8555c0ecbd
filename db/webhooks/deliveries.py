"""Deliveries of an endpoint as people see them, and sending one again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row

from db import access_log
from db.access_log import LogEntry
from db.pool import Pool, checkout
from db.webhooks.queue import LOCK_QUEUE, reason_not_to_send

COLUMNS: Final = """
    d.id, d.endpoint_id, e.user_id, e.conversation_id, e.type, e.key, e.created_at AS happened_at, d.state,
    d.attempts, d.next_attempt_at, d.lease_until, d.may_have_arrived, d.cancel_reason, d.error, d.status,
    d.duration_ms, d.attempted_at, d.ended_at
"""
LIST: Final = f"""
    SELECT {COLUMNS} FROM webhook_deliveries d JOIN outgoing_events e ON e.id = d.event_row
    WHERE d.endpoint_id = %(endpoint)s AND (%(before)s::bigint IS NULL OR d.id < %(before)s)
        AND (%(state)s::text IS NULL OR d.state = %(state)s)
    ORDER BY d.id DESC LIMIT %(limit)s
"""
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


async def list_deliveries(
    source: Pool, endpoint_id: UUID, *, limit: int, state: str | None = None, before: int | None = None
) -> tuple[WebhookDelivery, ...]:
    """The newest deliveries of an endpoint, those with a number below ``before``."""
    values = {"endpoint": endpoint_id, "limit": limit, "state": state, "before": before}
    async with (
        checkout(source) as connection,
        connection.cursor(row_factory=class_row(WebhookDelivery)) as cursor,
    ):
        return tuple(await (await cursor.execute(LIST, values)).fetchall())


async def get_delivery(source: Pool, delivery_id: int) -> WholeWebhookDelivery | None:
    """One delivery; None without it."""
    async with checkout(source) as connection:
        cursor = connection.cursor(row_factory=class_row(WholeWebhookDelivery))
        return await (await cursor.execute(GET, {"id": delivery_id})).fetchone()


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
