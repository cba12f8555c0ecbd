"""What waits in Postgres, and for how long: replies, webhooks, reviews, escalations, partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from db.audit.decision_list import read_connection
from db.connection import Connection
from db.costs.report import load_reached
from db.rows import all_rows, first_row
from db.tables import IS_CHECK
from features.feature import hook_values
from worker.errors import StorageUnavailable

WAITING: Final = sa.text(f"""
    SELECT
        (SELECT count(*) FROM outbox WHERE delivered_at IS NULL AND NOT cancel_settled
            AND cancelled_at IS NULL) AS outbox_waiting,
        (SELECT min(created_at) FROM outbox WHERE delivered_at IS NULL AND NOT cancel_settled
            AND cancelled_at IS NULL) AS outbox_oldest,
        (SELECT count(*) FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
            WHERE d.state = 'waiting' AND e.state = 'enabled') AS webhooks_waiting,
        (SELECT min(d.created_at) FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
            WHERE d.state = 'waiting' AND e.state = 'enabled') AS webhooks_oldest,
        (SELECT count(*) FROM webhook_endpoints WHERE failing_since IS NOT NULL AND state = 'enabled'
            OR disabled_reason = 'failing') AS endpoints_failing,
        (SELECT count(*) FROM unmoderated_texts WHERE checked_at IS NULL) AS unmoderated_waiting,
        (SELECT min(decided_at) FROM unmoderated_texts WHERE checked_at IS NULL) AS unmoderated_oldest,
        (SELECT count(*) FROM escalations WHERE closed_at IS NULL) AS escalations_open,
        (SELECT min(opened_at) FROM escalations WHERE closed_at IS NULL) AS escalations_oldest,
        (SELECT max(created_at) FROM ai_decisions
            WHERE created_at > now() - interval '10 minutes' AND ({IS_CHECK}) IS NOT TRUE) AS last_decision,
        (SELECT coalesce(max(hold_max_s), 0) FROM (
            SELECT DISTINCT ON (user_id) hold_max_s FROM ai_rules ORDER BY user_id, version DESC) AS newest)
            AS longest_hold_s
""")
PARTITIONS: Final = sa.text("""
    SELECT count(*) FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
    WHERE inhparent = 'ai_decisions'::regclass AND c.relname > :month
""")
QUEUES: Final = sa.text("""
    SELECT q.kind, min(i.decision_at) AS oldest
    FROM queue_items i JOIN queues q ON q.id = i.queue_id
    WHERE i.done_at IS NULL AND q.closed_at IS NULL AND NOT i.golden GROUP BY q.kind
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFigures:
    """What waits in Postgres.

    Attributes:
        outbox_oldest: when the oldest of the waiting replies was stored; None without one. The same of the
            other times.
        webhooks_waiting: deliveries to enabled endpoints.
        unmoderated_waiting: exchanges that passed without moderation and are not checked yet.
        endpoints_failing: webhook endpoints that failed last time, or were disabled because they failed.
        last_decision: of the last ten minutes; the gateway's decisions on checks do not count.
        longest_hold_s: the greatest ``hold_max_s`` of any account; 0 without accounts.
        partitions_ahead: months after this one that have a partition.
        queue_oldest: the oldest decision that waits for review, by kind of queue.
        budgets_reached: account and period of each budget that is spent.
        rollouts_returned: the account of each rollout that left its bounds within an hour.
        shadows_failed: shadows that were switched off in the last day.
    """

    outbox_waiting: int
    outbox_oldest: datetime | None
    webhooks_waiting: int
    webhooks_oldest: datetime | None
    endpoints_failing: int
    escalations_open: int
    escalations_oldest: datetime | None
    last_decision: datetime | None
    longest_hold_s: float
    partitions_ahead: int
    queue_oldest: dict[str, datetime]
    budgets_reached: tuple[tuple[str, str], ...] = ()
    rollouts_returned: tuple[str, ...] = ()
    unmoderated_waiting: int = 0
    unmoderated_oldest: datetime | None = None
    shadows_running: int = 0
    shadows_failed: int = 0


async def load_stored_figures(connection: Connection, today: date) -> StoredFigures:
    """The figures now."""
    waiting = await first_row(connection, WAITING)
    assert waiting is not None  # an aggregate has one row
    month = f"ai_decisions_{today:%Y_%m}"
    ahead = (await connection.execute(PARTITIONS, {"month": month})).scalar_one()
    queues = {str(row["kind"]): row["oldest"] for row in await all_rows(connection, QUEUES)}
    further: dict[str, Any] = {}
    for figures in hook_values("fleet_figures"):
        further |= await figures(connection)
    return StoredFigures(
        partitions_ahead=int(ahead),
        queue_oldest=queues,
        budgets_reached=await load_reached(connection, today),
        **waiting,
        **further,
    )


@asynccontextmanager
async def figures_connection(url: str) -> AsyncIterator[Connection]:
    """A read-only connection.

    Raises:
        StorageUnavailable: Postgres did not answer, or refused the read; ``kind`` says how.
    """
    try:
        async with read_connection(url) as connection:
            yield connection
    except psycopg.Error as error:
        raise StorageUnavailable("Postgres: the figures were not read", kind=type(error).__name__) from error
