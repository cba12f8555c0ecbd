"""Rollouts that left their bounds: for alerts, and for the people who lead the account."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from db.candidates.rollout_records import GUARD, Author, Rollout
from db.connection import Connection
from db.rows import all_rows
from db.webhooks.subscriptions import WebhookEvent

OF_GUARD: Final = f"""
    FROM rollouts r WHERE r.state = 'returned' AND r.stepped_at >= {{since}}
        AND EXISTS (SELECT FROM rollout_steps s
                    WHERE s.rollout_id = r.id AND s.kind = 'return' AND s.made_by = '{GUARD}')
"""
WITHIN_AN_HOUR: Final = sa.text(
    "SELECT r.user_id " + OF_GUARD.format(since="now() - interval '1 hour'") + " ORDER BY r.stepped_at"
)
COUNT: Final = sa.text(
    "SELECT count(*) AS number "
    + OF_GUARD.format(since=":since")
    + " AND (CAST(:accounts AS text[]) IS NULL OR r.user_id = ANY (CAST(:accounts AS text[])))"
)


async def load_returned(connection: Connection) -> tuple[str, ...]:
    """The account of each rollout that left its bounds within an hour."""
    return tuple(row["user_id"] for row in await all_rows(connection, WITHIN_AN_HOUR))


async def count_returned(connection: Connection, accounts: tuple[str, ...] | None, since: datetime) -> int:
    """Rollouts of these accounts that left their bounds from a time on; None: of every account."""
    values = {"accounts": None if accounts is None else list(accounts), "since": since}
    (row,) = await all_rows(connection, COUNT, values)
    return int(row["number"])


def returned_event(rollout: Rollout, author: Author) -> WebhookEvent:
    """The event of an automatic return; its fields are those of ``tasks.webhooks.bodies``."""
    rollout_id = str(rollout.rollout_id)
    return WebhookEvent(
        user_id=rollout.user_id,
        conversation_id=rollout_id,
        key=rollout_id,
        body={
            "user_id": rollout.user_id,
            "rollout_id": rollout_id,
            "candidate_id": str(rollout.candidate_id),
            "reason": author.reason,
            "returned_at": author.now.isoformat(),
        },
        created_at=author.now,
    )
