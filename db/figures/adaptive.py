"""Accounts whose thresholds may move, and when one moved last."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from db.pool import Pool, fetch_rows

DUE: Final = """
    SELECT newest.user_id FROM (
        SELECT DISTINCT ON (user_id) user_id, adaptive_thresholds FROM ai_rules
        ORDER BY user_id, version DESC
    ) AS newest
    WHERE newest.adaptive_thresholds <> '{}' AND NOT EXISTS (
        SELECT FROM ai_rules AS step WHERE step.user_id = newest.user_id
            AND step.changed_by = %(author)s AND step.changed_at > %(since)s)
        AND NOT EXISTS (SELECT FROM rollouts WHERE user_id = newest.user_id AND state = 'running')
    ORDER BY newest.user_id
"""


async def accounts_due(source: Pool, *, author: str, since: datetime) -> tuple[str, ...]:
    """Accounts with bounds in force, no step since then, and no running rollout, which a step would end."""
    rows = await fetch_rows(source, DUE, {"author": author, "since": since})
    return tuple(user_id for (user_id,) in rows)
