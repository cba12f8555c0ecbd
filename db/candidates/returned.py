"""Rollouts that left their bounds: for alerts."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.candidates.rollout_records import GUARD, Author, Rollout
from db.connection import Connection
from db.rows import all_rows
from db.webhooks.subscriptions import WebhookEvent

WITHIN_AN_HOUR: Final = sa.text(f"""
    SELECT r.user_id FROM rollouts r
    WHERE r.state = 'returned' AND r.stepped_at >= now() - interval '1 hour'
        AND EXISTS (SELECT FROM rollout_steps s
                    WHERE s.rollout_id = r.id AND s.kind = 'return' AND s.made_by = '{GUARD}')
    ORDER BY r.stepped_at
""")


async def load_returned(connection: Connection) -> tuple[str, ...]:
    """The account of each rollout that left its bounds within an hour."""
    return tuple(row["user_id"] for row in await all_rows(connection, WITHIN_AN_HOUR))


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
