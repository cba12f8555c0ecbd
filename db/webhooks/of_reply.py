"""The deliveries of one reply by webhook, for the page of its decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from db.connection import Connection
from worker.webhooks.types import MOST_ENDPOINTS, WebhookType

OF_REPLY: Final = f"""
    SELECT d.state, d.cancel_reason, d.may_have_arrived
    FROM outgoing_events e JOIN webhook_deliveries d ON d.event_row = e.id
    WHERE e.user_id = %(user_id)s AND e.type = '{WebhookType.REPLY_CREATED}' AND e.key = %(key)s
    ORDER BY d.id LIMIT {MOST_ENDPOINTS}
"""


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


async def deliveries_of_reply(
    connection: Connection, user_id: str, decision_id: UUID
) -> tuple[ReplyDelivery, ...]:
    """The deliveries of a decision's reply, oldest first; without those of removed endpoints."""
    values = {"user_id": user_id, "key": str(decision_id)}
    cursor = connection.cursor(row_factory=class_row(ReplyDelivery))
    return tuple(await (await cursor.execute(OF_REPLY, values)).fetchall())
