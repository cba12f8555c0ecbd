"""The queue of deliveries: made from events, claimed with a lease, ended, in the order of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from db.connection import Connection
from db.outbox import CONVERSATION_LOCK, HOLD_S, OVERTAKEN
from db.pool import Pool, checkout
from db.rows import first_value, rows_as
from worker.webhooks.types import WebhookType

QUEUE: Final = "hashtextextended('hushgate webhook queue', 0)"
TIMEOUT: Final = f"set_config('idle_in_transaction_session_timeout', '{round(HOLD_S * 1000)}', true)"
LOCK_QUEUE: Final = f"SELECT pg_advisory_xact_lock({QUEUE}), {TIMEOUT}"
"""New deliveries and ended ones must not cross: a delivery would wait for one that has just ended."""
SHARE_QUEUE: Final = f"SELECT pg_advisory_xact_lock_shared({QUEUE}), {TIMEOUT}"
HAS_EVENTS: Final = "SELECT EXISTS (SELECT FROM outgoing_events WHERE fanned_out_at IS NULL)"
FAN_OUT: Final = """
    WITH new AS MATERIALIZED (
        SELECT id, user_id, conversation_id, type, created_at
        FROM outgoing_events WHERE fanned_out_at IS NULL ORDER BY id LIMIT %(limit)s FOR UPDATE
    ), wanted AS (
        SELECT w.id AS endpoint_id, new.id AS event_row, new.user_id, new.conversation_id,
            row_number() OVER (PARTITION BY w.id, new.user_id, new.conversation_id ORDER BY new.id) AS place
        FROM new JOIN webhook_endpoints w
            ON w.user_id IN (new.user_id, '*') AND w.state = 'enabled' AND new.type = ANY(w.types)
                AND w.created_at <= new.created_at
    ), made AS (
        INSERT INTO webhook_deliveries (
            endpoint_id, event_row, user_id, conversation_id, next_attempt_at, created_at)
        SELECT endpoint_id, event_row, user_id, conversation_id,
            CASE WHEN place = 1 AND NOT EXISTS (
                SELECT FROM webhook_deliveries d
                WHERE d.endpoint_id = wanted.endpoint_id AND d.user_id = wanted.user_id
                    AND d.conversation_id = wanted.conversation_id AND d.state = 'waiting')
            THEN %(now)s::timestamptz END, %(now)s
        FROM wanted ORDER BY event_row
        ON CONFLICT DO NOTHING
    )
    UPDATE outgoing_events SET fanned_out_at = %(now)s WHERE id IN (SELECT id FROM new)
"""
BACKOFF_S: Final = 30
FAILING: Final = "w.failing_share >= 0.5"
"""Half of the recent attempts failed. A few failures among many successes slow nothing down."""
READY: Final = f"""
    w.state = 'enabled' AND (w.paused_until IS NULL OR w.paused_until <= %(now)s)
        AND (w.failures = 0 OR NOT {FAILING}
            OR w.failed_at + least(w.failures, {BACKOFF_S}) * interval '1 s' <= %(now)s)
"""
"""An endpoint that fails is asked less often, from every second down to every ``BACKOFF_S``: otherwise one
that refuses at once would use up its whole backlog, and the time of the poller. A success ends that."""
HAS_DUE: Final = f"""
    SELECT EXISTS (
        SELECT FROM webhook_endpoints w WHERE {READY} AND EXISTS (
            SELECT FROM webhook_deliveries d
            WHERE d.endpoint_id = w.id AND d.state = 'waiting' AND d.next_attempt_at <= %(now)s))
"""
DUE: Final = f"""
    SELECT due.id, due.is_reply, due.user_id, due.conversation_id
    FROM webhook_endpoints w CROSS JOIN LATERAL (
        SELECT count(*) AS every, count(*) FILTER (WHERE l.attempted_at > %(now)s - %(hangs_after)s) AS young
        FROM webhook_deliveries l WHERE l.endpoint_id = w.id AND l.lease_until > %(now)s
    ) AS running CROSS JOIN LATERAL (
        SELECT d.id, d.next_attempt_at, d.user_id, d.conversation_id, e.type = %(reply)s AS is_reply
        FROM webhook_deliveries d JOIN outgoing_events e ON e.id = d.event_row
        WHERE d.endpoint_id = w.id AND d.state = 'waiting' AND d.next_attempt_at <= %(now)s
        ORDER BY d.next_attempt_at, d.id
        LIMIT greatest(0, CASE WHEN {FAILING} THEN
            least(%(when_failing)s - running.young, %(when_failing)s + %(hanging)s - running.every)
            ELSE %(per_endpoint)s - running.every END)
        FOR UPDATE OF d SKIP LOCKED
    ) AS due
    WHERE {READY}
    ORDER BY due.next_attempt_at, due.id LIMIT %(limit)s
"""
LOCK_CONVERSATIONS: Final = f"""
    SELECT id FROM (
        SELECT id, pg_try_advisory_xact_lock_shared({CONVERSATION_LOCK}) AS locked
        FROM unnest(%(ids)s::bigint[], %(accounts)s::text[], %(conversations)s::text[])
            AS reply (id, user_id, conversation_id)) AS tried
    WHERE locked
"""
HOLD: Final = "hold"
FATES: Final = f"""
    SELECT d.id, CASE
        WHEN e.withdrawn IS NOT NULL THEN e.withdrawn
        WHEN e.type = '{WebhookType.REPLY_CREATED}' THEN CASE
            WHEN r.delivered_at IS NOT NULL THEN 'retracted'
            WHEN r.id IS NOT NULL THEN '{HOLD}'
            WHEN {OVERTAKEN} THEN 'taken_over'
            WHEN o.send_before < %(now)s THEN 'too_late' END
        WHEN e.type = '{WebhookType.REPLY_RETRACTED}' AND EXISTS (
            SELECT FROM outgoing_events c JOIN webhook_deliveries s
                ON s.event_row = c.id AND s.endpoint_id = d.endpoint_id
            WHERE c.user_id = e.user_id AND c.type = '{WebhookType.REPLY_CREATED}'
                AND c.key = e.body ->> 'event_id' AND s.state = 'cancelled' AND NOT s.may_have_arrived)
        THEN 'reply_not_sent' END
    FROM webhook_deliveries d JOIN outgoing_events e ON e.id = d.event_row
    LEFT JOIN outbox o ON o.user_id = e.user_id AND o.event_id = e.body ->> 'event_id'
        AND e.type = '{WebhookType.REPLY_CREATED}'
    LEFT JOIN retractions r ON r.decision_id = o.decision_id AND r.cancelled_at IS NULL
    WHERE d.id = ANY(%(ids)s)
"""
"""Read under the locks: a takeover may have been stored after the first look."""
POSTPONE: Final = "UPDATE webhook_deliveries SET next_attempt_at = %(later)s WHERE id = ANY(%(ids)s)"
CANCEL: Final = """
    UPDATE webhook_deliveries d
    SET state = 'cancelled', cancel_reason = fate.reason, ended_at = %(now)s, next_attempt_at = NULL,
        lease_until = NULL
    FROM unnest(%(ids)s::bigint[], %(reasons)s::text[]) AS fate (id, reason) WHERE d.id = fate.id
"""
CLAIM: Final = """
    UPDATE webhook_deliveries d
    SET attempts = d.attempts + 1, attempted_at = %(now)s, lease_until = %(until)s,
        next_attempt_at = %(until)s, may_have_arrived = true
    FROM webhook_deliveries before, webhook_endpoints w, outgoing_events e
    WHERE d.id = ANY(%(ids)s) AND before.id = d.id AND w.id = d.endpoint_id AND e.id = d.event_row
    RETURNING d.id AS row_id, d.endpoint_id, w.url, w.secret,
        CASE WHEN w.old_secret_until > %(now)s THEN w.old_secret END AS old_secret,
        e.user_id, e.conversation_id, e.type, e.key, e.body, e.created_at, d.attempts, d.lease_until,
        before.may_have_arrived AS arrived_before
"""
"""Until the attempt has ended, the receiver may have the event: its poller may die."""
PROMOTE: Final = """
    UPDATE webhook_deliveries n SET next_attempt_at = %(now)s
    FROM (SELECT DISTINCT endpoint_id, user_id, conversation_id
          FROM webhook_deliveries WHERE id = ANY(%(ids)s)) AS ended
    WHERE n.next_attempt_at IS NULL AND n.id = (
        SELECT h.id FROM webhook_deliveries h
        WHERE h.endpoint_id = ended.endpoint_id AND h.user_id = ended.user_id
            AND h.conversation_id = ended.conversation_id AND h.state = 'waiting'
        ORDER BY h.event_row LIMIT 1)
"""
"""The next event of a conversation becomes due when the event before it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """How many attempts run at the same time.

    Attributes:
        per_endpoint: of one endpoint, over the whole fleet.
        when_failing: of an endpoint of whose recent attempts half failed: these take few of all attempts.
        hangs_after: an attempt that has run for so long leaves its place to another one.
        hanging: places left so, of a failing endpoint.
        lease: a poller that has not ended an attempt by then is dead; longer than an attempt may take.
        hold: pause before the next look at a reply whose retraction may be undone.
    """

    per_endpoint: int = 8
    when_failing: int = 1
    hangs_after: timedelta = timedelta(seconds=2)
    hanging: int = 1
    lease: timedelta = timedelta(seconds=30)
    hold: timedelta = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedDelivery:
    """A delivery whose attempt this poller makes.

    Attributes:
        old_secret: the secret before the rotation, while it is valid.
        attempts: the number of this attempt.
        arrived_before: whether an earlier attempt may have arrived.
    """

    row_id: int
    endpoint_id: UUID
    url: str
    secret: str
    old_secret: str | None
    user_id: str
    conversation_id: str
    type: str
    key: str
    body: dict[str, Any]
    created_at: datetime
    attempts: int
    lease_until: datetime
    arrived_before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a look at the queue found.

    Attributes:
        looked_s: when it was read whether the deliveries may be sent, by the caller's clock.
        cancelled: deliveries that must not be sent any more; the next of their conversations may be due now.
    """

    deliveries: tuple[ClaimedDelivery, ...] = ()
    cancelled: int = 0
    looked_s: float = 0.0


async def fan_out(source: Pool, limit: int, now: datetime) -> int:
    """Make the deliveries of the oldest events without any; how many events were looked at."""
    async with checkout(source) as connection:
        if not await first_value(connection, HAS_EVENTS):
            return 0
        async with connection.transaction():
            await connection.execute(LOCK_QUEUE)
            return (await connection.execute(FAN_OUT, {"limit": limit, "now": now})).rowcount


async def claim_due(
    source: Pool, limit: int, now: datetime, limits: QueueLimits, *, seconds: Callable[[], float]
) -> Claims:
    """Claim due deliveries, the longest due first, and cancel those that must not be sent any more.

    Once people have taken a conversation, no attempt of a reply in it begins; ``seconds`` is a clock by which
    the caller finds out that a claim is too old for that.
    """
    async with checkout(source) as connection:
        if not await first_value(connection, HAS_DUE, {"now": now}):
            return Claims()
        async with connection.transaction():
            await connection.execute(SHARE_QUEUE)
            looked_s = seconds()
            free = await _lock_due(connection, limit, now, limits)
            chosen, cancelled = await _cancel_unwanted(connection, free, now, limits)
            if not chosen:
                return Claims(cancelled=cancelled)
            values = {"ids": chosen, "now": now, "until": now + limits.lease}
            rows = await rows_as(connection, ClaimedDelivery, CLAIM, values)
    return Claims(deliveries=rows, cancelled=cancelled, looked_s=looked_s)


async def reason_not_to_send(connection: Connection, delivery_id: int, now: datetime) -> str | None:
    """Why a delivery must not be sent, as its cancel reason; None when it may be sent, or is gone."""
    row = await (await connection.execute(FATES, {"ids": [delivery_id], "now": now})).fetchone()
    fate: str | None = row[1] if row else None
    return "retracted" if fate == HOLD else fate


async def promote_next(connection: Connection, ended: Sequence[int], now: datetime) -> None:
    """Make the next deliveries of the conversations of ended ones due."""
    await connection.execute(PROMOTE, {"ids": list(ended), "now": now})


async def _lock_due(connection: Connection, limit: int, now: datetime, limits: QueueLimits) -> list[int]:
    """The due deliveries, without replies whose conversation is being taken over right now."""
    values = asdict(limits) | {"now": now, "limit": limit, "reply": WebhookType.REPLY_CREATED.value}
    due = await (await connection.execute(DUE, values)).fetchall()
    replies = [row for row in due if row[1]]
    others = [row[0] for row in due if not row[1]]
    if not replies:
        return others
    tried = {
        "ids": [row[0] for row in replies],
        "accounts": [row[2] for row in replies],
        "conversations": [row[3] for row in replies],
    }
    locked = await (await connection.execute(LOCK_CONVERSATIONS, tried)).fetchall()
    return [*others, *(row[0] for row in locked)]


async def _cancel_unwanted(
    connection: Connection, ids: Sequence[int], now: datetime, limits: QueueLimits
) -> tuple[list[int], int]:
    """Deliveries that may be sent, and the number of cancelled ones; the others are postponed."""
    if not ids:
        return [], 0
    rows = await (await connection.execute(FATES, {"ids": list(ids), "now": now})).fetchall()
    fates: dict[int, str | None] = {row[0]: row[1] for row in rows}
    if held := [each for each, fate in fates.items() if fate == HOLD]:
        await connection.execute(POSTPONE, {"ids": held, "later": now + limits.hold})
    ended = {each: fate for each, fate in fates.items() if fate is not None and fate != HOLD}
    if ended:
        values = {"ids": list(ended), "reasons": list(ended.values()), "now": now}
        await connection.execute(CANCEL, values)
        await promote_next(connection, list(ended), now)
    return [each for each, fate in fates.items() if fate is None], len(ended)
