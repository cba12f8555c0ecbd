"""The end of an attempt: the delivery's new state, and what it says about its endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from db.connection import Connection
from db.pool import Pool, checkout
from db.webhooks.queue import SHARE_QUEUE, ClaimedDelivery, promote_next
from worker.webhooks.schedule import AttemptError, AttemptResult

FAILING_FOR: Final = timedelta(days=3)
"""An endpoint without a success for so long is disabled when a delivery has used up its schedule of 76 h."""
END: Final = """
    UPDATE webhook_deliveries
    SET state = %(state)s, ended_at = %(ended_at)s, next_attempt_at = %(next)s, lease_until = NULL,
        may_have_arrived = %(arrived)s, error = %(error)s, status = %(status)s, answer = %(answer)s,
        duration_ms = %(duration_ms)s
    WHERE id = %(id)s AND state = 'waiting' AND attempts = %(attempts)s AND lease_until = %(lease)s
"""
"""Only while the lease is ours: another poller may have begun the next attempt."""
RETURN: Final = """
    UPDATE webhook_deliveries
    SET attempts = attempts - 1, lease_until = NULL, next_attempt_at = %(now)s, may_have_arrived = %(arrived)s
    WHERE id = %(id)s AND state = 'waiting' AND attempts = %(attempts)s AND lease_until = %(lease)s
"""
RECENT: Final = 10
"""Attempts after which an earlier one counts little in the share of failures."""
RECOVER: Final = f"""
    UPDATE webhook_endpoints SET failures = 0, failing_since = NULL,
        failing_share = CASE WHEN failing_share < 0.02 THEN 0 ELSE failing_share * (1 - 1.0 / {RECENT}) END
    WHERE id = %(endpoint)s AND (failures > 0 OR failing_share > 0)
"""
COUNT_FAILURE: Final = f"""
    UPDATE webhook_endpoints SET failures = failures + 1,
        failing_share = failing_share + (1 - failing_share) / {RECENT},
        failing_since = coalesce(failing_since, %(now)s),
        failed_at = %(now)s, paused_until = greatest(paused_until, %(paused_until)s::timestamptz)
    WHERE id = %(endpoint)s
"""
DISABLE: Final = """
    UPDATE webhook_endpoints SET state = 'disabled', disabled_reason = %(reason)s
    WHERE id = %(endpoint)s AND state = 'enabled'
        AND (%(reason)s = 'gone' OR failing_since <= %(failing_before)s)
"""


class DeliveryState(StrEnum):
    """The state of a delivery; stored."""

    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DisabledReason(StrEnum):
    """Why an endpoint is disabled; stored."""

    PERSON = "person"
    GONE = "gone"
    FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnding:
    """What the end of an attempt changed.

    Attributes:
        state: None when another poller has the delivery by now.
        disabled: why the endpoint was disabled just now.
    """

    state: DeliveryState | None
    disabled: DisabledReason | None = None


async def end_attempt(
    source: Pool, claimed: ClaimedDelivery, result: AttemptResult, *, retry_at: datetime | None, now: datetime
) -> AttemptEnding:
    """Store the result of an attempt; after a failure the next one is at ``retry_at``, None to give up."""
    state = DeliveryState.SUCCEEDED
    if result.error is not None:
        state = DeliveryState.FAILED if retry_at is None else DeliveryState.WAITING
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(SHARE_QUEUE)
        values = _columns(claimed, result, state, retry_at, now)
        if (await connection.execute(END, values)).rowcount == 0:
            return AttemptEnding(state=None)
        if state is not DeliveryState.WAITING:
            await promote_next(connection, [claimed.row_id], now)
        disabled = await _note_endpoint(connection, claimed, result, now, gave_up=retry_at is None)
    return AttemptEnding(state=state, disabled=disabled)


async def return_claim(source: Pool, claimed: ClaimedDelivery, now: datetime) -> bool:
    """Undo a claim whose attempt did not begin; False when another poller has the delivery by now."""
    values = {
        "id": claimed.row_id,
        "attempts": claimed.attempts,
        "lease": claimed.lease_until,
        "arrived": claimed.arrived_before,
        "now": now,
    }
    async with checkout(source) as connection:
        return (await connection.execute(RETURN, values)).rowcount > 0


def _columns(
    claimed: ClaimedDelivery,
    result: AttemptResult,
    state: DeliveryState,
    retry_at: datetime | None,
    now: datetime,
) -> dict[str, Any]:
    waiting = state is DeliveryState.WAITING
    return {
        "id": claimed.row_id,
        "attempts": claimed.attempts,
        "lease": claimed.lease_until,
        "state": state.value,
        "ended_at": None if waiting else now,
        "next": retry_at if waiting else None,
        "arrived": claimed.arrived_before or result.may_have_arrived,
        "error": result.error,
        "status": result.status,
        "answer": result.answer,
        "duration_ms": result.duration_ms,
    }


async def _note_endpoint(
    connection: Connection,
    claimed: ClaimedDelivery,
    result: AttemptResult,
    now: datetime,
    *,
    gave_up: bool,
) -> DisabledReason | None:
    if result.error is None:
        await connection.execute(RECOVER, {"endpoint": claimed.endpoint_id})
        return None
    pause = None if result.retry_after_s is None else now + timedelta(seconds=result.retry_after_s)
    counted = {"endpoint": claimed.endpoint_id, "now": now, "paused_until": pause}
    await connection.execute(COUNT_FAILURE, counted)
    if not gave_up:
        return None
    reason = DisabledReason.GONE if result.error is AttemptError.GONE else DisabledReason.FAILING
    values = {"endpoint": claimed.endpoint_id, "reason": reason.value, "failing_before": now - FAILING_FOR}
    changed = await connection.execute(DISABLE, values)
    return reason if changed.rowcount else None
