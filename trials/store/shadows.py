"""Shadows: candidates that decide every new event of their account again, without acting."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from db.account_settings.accounts import SERIALISE
from db.pool import Pool, checkout, fetch_value
from db.rows import first_value
from trials.pure.trial import StepKind, Trial, TrialKind
from trials.store.candidates import REASON_CHARS, Actor, TrialRefused, startable_candidate
from trials.store.trials import begin_trial, get_trial, new_trial, not_running, take_step

MOST_RUNNING: Final = 3
"""Shadows of one account at a time."""
MOST_USD: Final = 1000.0
RUNNER: Final = "hushgate"
"""Who ends a shadow that is switched off."""
NUMBER: Final = "SELECT count(*) FROM trials WHERE user_id = %s AND kind = 'shadow' AND state = 'running'"
MAY_RUN: Final = """
    SELECT has_table_privilege('recordings', 'SELECT') AND has_table_privilege('shadow_results', 'INSERT')
"""


async def start_shadow(source: Pool, candidate_id: UUID, actor: Actor, *, usd_a_day: float = 0.0) -> Trial:
    """Let a candidate decide the new events of its account, without acting.

    Raises:
        TrialRefused: no such candidate, withdrawn, running already, or too many run.
        AccountRejected: the candidate cannot be used with the settings in force.
    """
    actor.check_reason()
    if not 0 <= usd_a_day <= MOST_USD:
        raise TrialRefused(f"usd_a_day: expected 0 to {MOST_USD:.0f}, got {usd_a_day}")
    candidate = await startable_candidate(source, candidate_id)
    trial = new_trial(TrialKind.SHADOW, candidate.tried, actor.now, usd_a_day=usd_a_day)
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(SERIALISE, (trial.user_id,))
        if await first_value(connection, NUMBER, (trial.user_id,)) >= MOST_RUNNING:
            raise TrialRefused(
                f"shadow: expected at most {MOST_RUNNING} of {trial.user_id} at a time, got another"
            )
        await begin_trial(connection, trial, actor)
    return await get_trial(source, trial.trial_id, TrialKind.SHADOW) or trial


async def stop_shadow(source: Pool, shadow_id: UUID, actor: Actor) -> Trial:
    """End a shadow; its results stay.

    Raises:
        TrialRefused: it does not run.
    """
    actor.check_reason()
    shadow = await get_trial(source, shadow_id, TrialKind.SHADOW)
    if shadow is None:
        raise not_running(TrialKind.SHADOW, shadow_id)
    return await _end(source, shadow, StepKind.STOP, actor)


async def end_automatically(
    source: Pool, shadow: Trial, reason: str, now: datetime, *, failed: bool = True
) -> Trial:
    """End a shadow whose candidate cannot decide; not ``failed``: whose candidate was withdrawn.

    Raises:
        TrialRefused: it does not run any more.
    """
    actor = Actor(made_by=RUNNER, reason=reason[:REASON_CHARS], now=now, automatic=True)
    return await _end(source, shadow, StepKind.FAIL if failed else StepKind.STOP, actor)


async def may_run_shadows(source: Pool) -> bool:
    """Whether the login may read recordings and write results; the login of workers may not."""
    return bool(await fetch_value(source, MAY_RUN))


async def _end(source: Pool, shadow: Trial, kind: StepKind, actor: Actor) -> Trial:
    async with checkout(source) as connection, connection.transaction():
        return await take_step(connection, shadow, kind, actor)
