"""The stored rollouts, whose candidate decides a share of an account's conversations, and their steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from db.pool import Pool, fetch_dicts
from trials.pure.rollouts.bounds import RolloutFigures
from trials.pure.rollouts.stored import parse_figures
from trials.store.rollout_records import Rollout, RolloutStep
from worker.arms import RunningRollout

COLUMNS: Final = (
    "id AS rollout_id, user_id, candidate_id, base_version, share, state, bounds, least, metric, planned,"
    " stepped_at"
)
GET: Final = f"SELECT {COLUMNS} FROM rollouts WHERE id = %s"
LIST: Final = f"SELECT {COLUMNS} FROM rollouts WHERE user_id = %s ORDER BY id DESC LIMIT %s"
ALL_RUNNING: Final = f"SELECT {COLUMNS} FROM rollouts WHERE state = 'running' ORDER BY user_id"
STEPS: Final = """
    SELECT kind, share, made_by, reason, made_at, version, figures FROM rollout_steps
    WHERE rollout_id = %s ORDER BY id
"""
RUNNING: Final = """
    SELECT r.id AS rollout_id, r.candidate_id, r.user_id, r.base_version, c.changes, r.share
    FROM rollouts r JOIN candidates c ON c.id = r.candidate_id
    WHERE r.user_id = ANY(%s) AND r.state = 'running' AND r.share = (
        SELECT s.share FROM rollout_steps s WHERE s.rollout_id = r.id ORDER BY s.id DESC LIMIT 1)
        AND EXISTS (SELECT FROM rollout_steps s WHERE s.rollout_id = r.id AND s.kind = 'start')
"""
"""With the share of its last step: a rollout that no step started, or changed, is not followed."""
END: Final = """
    WITH ended AS (
        UPDATE rollouts SET state = 'returned', stepped_at = now()
        WHERE user_id = %(user_id)s AND state = 'running' RETURNING id
    )
    INSERT INTO rollout_steps (rollout_id, kind, share, made_by, reason, made_at, version)
    SELECT id, 'return', 0, %(made_by)s, 'other settings were stored', now(), %(version)s FROM ended
"""
"""Ends the rollout of an account whose settings are stored: its candidate was made from other settings."""


async def get_rollout(source: Pool, rollout_id: UUID) -> Rollout | None:
    """A rollout, or None."""
    found = await fetch_dicts(source, GET, (rollout_id,))
    return Rollout(**found[0]) if found else None


async def list_rollouts(source: Pool, user_id: str, *, limit: int = 20) -> tuple[Rollout, ...]:
    """The rollouts of an account, the newest first."""
    return tuple(Rollout(**row) for row in await fetch_dicts(source, LIST, (user_id, limit)))


async def list_running(source: Pool) -> tuple[Rollout, ...]:
    """The rollouts that run."""
    return tuple(Rollout(**row) for row in await fetch_dicts(source, ALL_RUNNING))


async def list_steps(source: Pool, rollout_id: UUID) -> tuple[RolloutStep, ...]:
    """The steps of a rollout, the oldest first."""
    rows = await fetch_dicts(source, STEPS, (rollout_id,))
    return tuple(RolloutStep(**row | {"figures": _figures(row["figures"])}) for row in rows)


async def running_rollouts(source: Pool, user_ids: Collection[str]) -> Mapping[str, RunningRollout]:
    """The running rollouts of these accounts, by account."""
    rows = await fetch_dicts(source, RUNNING, (list(user_ids),))
    return {row["user_id"]: RunningRollout(**row) for row in rows}


def _figures(stored: Any) -> RolloutFigures | None:
    return None if stored is None else parse_figures(stored)
