"""Rollouts that left their bounds, and shadows: for alerts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from db.connection import Connection
from db.rows import all_rows, first_row
from db.webhooks.subscriptions import WebhookEvent
from trials.store.rollouts import Rollout

WITHIN_AN_HOUR: Final = sa.text("""
    SELECT r.user_id FROM rollouts r
    WHERE r.state = 'returned' AND r.stepped_at >= now() - interval '1 hour'
        AND EXISTS (SELECT FROM rollout_steps s
                    WHERE s.rollout_id = r.id AND s.kind = 'return' AND s.automatic)
    ORDER BY r.stepped_at
""")
SHADOWS: Final = sa.text("""
    SELECT count(*) FILTER (WHERE state = 'running') AS shadows_running,
        count(*) FILTER (WHERE state = 'failed' AND ended_at > now() - interval '1 day') AS shadows_failed
    FROM shadows
""")


async def fleet_figures(connection: Connection) -> Mapping[str, Any]:
    """For ``db.fleet.figures.StoredFigures``: rollouts that left their bounds within an hour, and shadows."""
    shadows = await first_row(connection, SHADOWS)
    assert shadows is not None  # an aggregate has one row
    returned = tuple(row["user_id"] for row in await all_rows(connection, WITHIN_AN_HOUR))
    return {**shadows, "rollouts_returned": returned}


def returned_event(rollout: Rollout, reason: str, now: datetime) -> WebhookEvent:
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
            "reason": reason,
            "returned_at": now.isoformat(),
        },
        created_at=now,
    )
