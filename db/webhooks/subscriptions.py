"""Events that only webhooks send: stored with the change, where an enabled endpoint subscribes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Jsonb

from db.connection import Connection
from db.outgoing.events import INSERT_WITHOUT_STREAM
from db.rows import first_value
from db.webhooks.subscribed import EVERY_ACCOUNT
from worker.webhooks.types import WebhookType

WITHDRAW_REPLY: Final = f"""
    UPDATE outgoing_events e SET withdrawn = '{{reason}}'
    FROM outbox o, key
    WHERE {{replies}} AND e.user_id = o.user_id AND e.type = '{WebhookType.REPLY_CREATED}'
        AND e.key = o.event_id
"""
"""A CTE: webhooks do not send these replies any more. ``replies`` selects rows of the outbox."""
ANY_SUBSCRIBED: Final = f"""
    SELECT EXISTS (
        SELECT FROM unnest(%(accounts)s::text[]) AS account
        WHERE EXISTS (SELECT FROM webhook_endpoints w
                      WHERE w.user_id IN (account, '{EVERY_ACCOUNT}') AND w.state = 'enabled'
                          AND %(type)s = ANY(w.types)))
"""
ADD: Final = INSERT_WITHOUT_STREAM.format(
    source="SELECT %(user_id)s::text, %(conversation_id)s::text, %(type)s::text, %(key)s::text,"
    " %(body)s::jsonb, %(created_at)s::timestamptz"
)

WITHDRAW: Final = """
    UPDATE outgoing_events SET withdrawn = %(withdrawn)s
    WHERE user_id = %(user_id)s AND type = %(type)s AND key = %(key)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """An event for endpoints.

    Attributes:
        key: unique within account and type.
        body: the fields of the type's schema.
        withdrawn: why it must not be sent; None: it may.
    """

    user_id: str
    conversation_id: str
    key: str
    body: Mapping[str, Any]
    created_at: datetime
    withdrawn: str | None = None


async def store_events(
    connection: Connection, event_type: WebhookType, events: Sequence[WebhookEvent]
) -> None:
    """Store events within a transaction; without a subscription one look at an index."""
    wanted = {"accounts": sorted({each.user_id for each in events}), "type": event_type.value}
    if not await first_value(connection, ANY_SUBSCRIBED, wanted):
        return
    for each in events:
        values = asdict(each) | {"type": event_type.value, "body": Jsonb(dict(each.body))}
        await connection.execute(ADD, values)
        if each.withdrawn is not None:
            await connection.execute(WITHDRAW, values)
