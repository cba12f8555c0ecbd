"""The part of storing settings that ends a rollout: its candidate was made from other settings."""

from __future__ import annotations

from typing import Final

END: Final = """
    WITH ended AS (
        UPDATE rollouts SET state = 'returned', stepped_at = now()
        WHERE user_id = %(user_id)s AND state = 'running' RETURNING id
    )
    INSERT INTO rollout_steps (rollout_id, kind, share, made_by, reason, made_at, version)
    SELECT id, 'return', 0, %(made_by)s, 'other settings were stored', now(), %(version)s FROM ended
"""
