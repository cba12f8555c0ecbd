"""Endpoints of webhooks as people manage them; their secrets can be written here, never read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db import access_log
from db.access_log import LogEntry
from db.identifiers import uuid_at
from db.pool import Pool, checkout, fetch_as, fetch_one_as
from db.rows import first_value
from db.webhooks.endings import DisabledReason
from db.webhooks.queue import LOCK_QUEUE
from worker.webhooks.signing import encode_secret, secret_hint
from worker.webhooks.types import MOST_ENDPOINTS, TEST_TYPE

ADD: Final = """
    INSERT INTO webhook_endpoints (
        id, user_id, url, description, types, secret, secret_hint, created_by, created_at)
    SELECT %(id)s, %(user_id)s, %(url)s, %(description)s, %(types)s, %(secret)s, %(hint)s, %(by)s, %(now)s
    WHERE (SELECT count(*) FROM webhook_endpoints WHERE user_id = %(user_id)s) < %(most)s
"""
COLUMNS: Final = """
    id, user_id, url, description, types, state, disabled_reason, secret_hint, old_secret_until, failures,
    failing_since, paused_until, created_by, created_at,
    (SELECT count(*) FROM webhook_deliveries d WHERE d.endpoint_id = w.id AND d.state = 'waiting') AS waiting
"""
LIST: Final = f"""
    SELECT {COLUMNS} FROM webhook_endpoints w
    WHERE %(accounts)s::text[] IS NULL OR user_id = ANY(%(accounts)s) ORDER BY user_id, id
"""
GET: Final = f"SELECT {COLUMNS} FROM webhook_endpoints w WHERE id = %(id)s"
ROTATE: Final = "SELECT hushgate_rotate_secret(%(id)s, %(secret)s, %(hint)s, %(until)s)"
ENABLE: Final = """
    UPDATE webhook_endpoints SET state = 'enabled', disabled_reason = '', failures = 0, failing_since = NULL,
        failing_share = 0, paused_until = NULL
    WHERE id = %(id)s AND state = 'disabled'
"""
DISABLE: Final = f"""
    UPDATE webhook_endpoints SET state = 'disabled', disabled_reason = '{DisabledReason.PERSON}'
    WHERE id = %(id)s AND state = 'enabled'
"""
REMOVE: Final = "DELETE FROM webhook_endpoints WHERE id = %(id)s"
TEST: Final = f"""
    WITH event AS (
        INSERT INTO outgoing_events (
            user_id, conversation_id, type, key, body, created_at, streamed_at, fanned_out_at)
        SELECT user_id, '', '{TEST_TYPE}', %(key)s, %(body)s, %(now)s, %(now)s, %(now)s
        FROM webhook_endpoints WHERE id = %(id)s AND state = 'enabled'
        RETURNING id, user_id
    )
    INSERT INTO webhook_deliveries (
        endpoint_id, event_row, user_id, conversation_id, next_attempt_at, created_at)
    SELECT %(id)s, id, user_id, '', %(now)s, %(now)s FROM event RETURNING id
"""
TEST_MESSAGE: Final = "A test of this endpoint. Answer with a status from 200 to 299."


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoint:
    """An endpoint as people see it.

    Attributes:
        secret_hint: the first characters of its secret.
        old_secret_until: the secret before the last rotation signs too, until then.
        failures: attempts since the last success.
        waiting: deliveries that have not ended.
    """

    id: UUID
    user_id: str
    url: str
    description: str
    types: list[str]
    state: str
    disabled_reason: str
    secret_hint: str
    old_secret_until: datetime | None
    failures: int
    failing_since: datetime | None
    paused_until: datetime | None
    created_by: str
    created_at: datetime
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEndpoint:
    """An endpoint to add; its URL and types are checked already."""

    user_id: str
    url: str
    description: str
    types: Sequence[str]
    created_by: str


async def add_endpoint(
    source: Pool, new: NewEndpoint, key: bytes, now: datetime, *, logged: LogEntry
) -> UUID | None:
    """Store an endpoint; its id, or None when the account has ``MOST_ENDPOINTS`` already.

    The access log has the id beside the detail of ``logged``.
    """
    secret, endpoint_id = encode_secret(key), uuid_at(now)
    values = {
        "id": endpoint_id,
        "user_id": new.user_id,
        "url": new.url,
        "description": new.description,
        "types": list(new.types),
        "secret": secret,
        "hint": secret_hint(secret),
        "by": new.created_by,
        "now": now,
        "most": MOST_ENDPOINTS,
    }
    entry = replace(logged, detail={**logged.detail, "endpoint": str(endpoint_id)})
    return endpoint_id if await _changed(source, ADD, values, entry) else None


async def list_endpoints(source: Pool, accounts: Sequence[str] | None) -> tuple[WebhookEndpoint, ...]:
    """The endpoints of these accounts, or all; the account ``*`` has those of every account."""
    values = {"accounts": None if accounts is None else list(accounts)}
    return tuple(await fetch_as(source, WebhookEndpoint, LIST, values))


async def get_endpoint(source: Pool, endpoint_id: UUID) -> WebhookEndpoint | None:
    """One endpoint; None without it."""
    return await fetch_one_as(source, WebhookEndpoint, GET, {"id": endpoint_id})


async def rotate_secret(
    source: Pool, endpoint_id: UUID, key: bytes, until: datetime, *, logged: LogEntry
) -> None:
    """Replace the secret; the present one signs too, until then."""
    secret = encode_secret(key)
    values = {"id": endpoint_id, "secret": secret, "hint": secret_hint(secret), "until": until}
    await _changed(source, ROTATE, values, logged)


async def set_enabled(source: Pool, endpoint_id: UUID, *, enabled: bool, logged: LogEntry) -> bool:
    """Enable or disable an endpoint; False when nothing changed. Deliveries wait while it is disabled."""
    return await _changed(source, ENABLE if enabled else DISABLE, {"id": endpoint_id}, logged)


async def remove_endpoint(source: Pool, endpoint_id: UUID, *, logged: LogEntry) -> bool:
    """Delete an endpoint with its deliveries; False when it is gone already."""
    return await _changed(source, REMOVE, {"id": endpoint_id}, logged)


async def send_test(source: Pool, endpoint_id: UUID, now: datetime, *, logged: LogEntry) -> int | None:
    """Queue a test event for one endpoint; the delivery's number, or None while it is disabled."""
    values = {
        "id": endpoint_id,
        "key": str(uuid_at(now)),
        "body": Jsonb({"message": TEST_MESSAGE}),
        "now": now,
    }
    async with checkout(source) as connection, connection.transaction():
        number: int | None = await first_value(connection, TEST, values)
        if number is not None:
            await access_log.append_entry(connection, logged)
    return number


async def _changed(source: Pool, statement: str, values: dict[str, object], logged: LogEntry) -> bool:
    """Whether a statement changed a row; then the access log has the entry in the same transaction.

    Changes come one after the other, and not amid an attempt that ends or deliveries that are made.
    """
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_QUEUE)
        changed = (await connection.execute(statement, values)).rowcount > 0
        if changed:
            await access_log.append_entry(connection, logged)
    return changed
