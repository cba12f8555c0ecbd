"""Rollouts: a candidate decides a share of conversations; what they declare, and what both arms did."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.pool import Pool, fetch_as, fetch_value
from trials.pure.rollouts.bounds import RolloutFigures, parse_figures
from trials.pure.trial import Trial
from worker.reasons import Reason, ReasonFamily
from worker.running_rollouts import RunningRollout

BLOCKED: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.BLOCKED]
BY_PEOPLE: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.PEOPLE]
"""Decisions about conversations that people own: no arm's."""
FIGURES: Final = """
    SELECT hushgate_rollout_figures(%(id)s, %(now)s, %(blocked)s::text[], %(people)s::text[])
"""
"""Workers may not read the audit; the function gives them sums only."""


async def load_sums(source: Pool, rollout_id: UUID, now: datetime) -> Mapping[str, Any]:
    """The sums of both arms from the last step to ``now``, as steps store them."""
    values = {"id": rollout_id, "now": now, "blocked": BLOCKED, "people": BY_PEOPLE}
    found: Mapping[str, Any] = await fetch_value(source, FIGURES, values)
    return found


async def load_figures(source: Pool, rollout_id: UUID, now: datetime) -> RolloutFigures:
    """The figures of both arms from the last step to ``now``."""
    return parse_figures(await load_sums(source, rollout_id, now))


RUNNING: Final = """
    SELECT rollout_id, candidate_id, user_id, base_version, changes, share FROM running_rollouts
    WHERE user_id = ANY(%s) AND share = granted_share
"""
"""With the share of its last step: a rollout that no step started, or changed, is not followed."""
TO_CHECK: Final = """
    SELECT rollout_id AS trial_id, 'rollout' AS kind, user_id, candidate_id, base_version, changes, share,
        plan, started_at, stepped_at, started_at AS reached_at, withdrawn
    FROM running_rollouts ORDER BY user_id
"""
END: Final = """
    WITH ended AS (
        UPDATE trials SET state = 'returned', stepped_at = now()
        WHERE user_id = %(user_id)s AND kind = 'rollout' AND state = 'running' RETURNING id
    )
    INSERT INTO trial_steps (trial_id, kind, share, made_by, reason, made_at, version)
    SELECT id, 'return', 0, %(made_by)s, 'other settings were stored', now(), %(version)s FROM ended
"""
"""Ends the rollout of an account whose settings are stored: its candidate was made from other settings."""


async def running_rollouts(source: Pool, user_ids: Collection[str]) -> Mapping[str, RunningRollout]:
    """The running rollouts of these accounts, by account, as a worker's login reads them."""
    found = await fetch_as(source, RunningRollout, RUNNING, (list(user_ids),))
    return {each.user_id: each for each in found}


async def rollouts_to_check(source: Pool) -> tuple[Trial, ...]:
    """The rollouts that run, without their steps, as a worker's login reads them."""
    return tuple(await fetch_as(source, Trial, TO_CHECK))
