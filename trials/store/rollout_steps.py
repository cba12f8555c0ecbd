"""The steps of a rollout: started, given another share, returned or finished.

A step is one transaction, under the lock of the account's settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db.account_settings.accounts import IN_FORCE, SERIALISE, current_account, store_version
from db.connection import Connection
from db.pool import Pool, checkout
from db.rows import first_value
from db.webhooks.subscriptions import WebhookEvent, store_events
from trials.pure.rollouts.bounds import MOST_LEAST, broken_bounds
from trials.pure.rollouts.plan import Plan, plan_of
from trials.pure.trial import StepKind, Trial, TrialKind
from trials.store.candidates import REASON_CHARS, Actor, TrialRefused, startable_candidate
from trials.store.rollouts import load_figures, load_sums
from trials.store.trials import (
    begin_trial,
    change_trial,
    get_trial,
    new_trial,
    not_running,
    note_step,
    take_step,
)
from worker.account_settings import AccountRejected, changed
from worker.webhooks.types import WebhookType

LEAST_SHARE: Final = 0.001
RETURN: Final = "SELECT hushgate_return_rollout(%s, %s, %s, %s)"


async def start_rollout(source: Pool, candidate_id: UUID, plan: Plan, actor: Actor) -> Trial:
    """Let a candidate decide a share of its account's conversations.

    Raises:
        TrialRefused: no such candidate, withdrawn, made from settings that are not in force, without
            bounds, or another rollout of the account runs.
        AccountRejected: this release cannot use the candidate.
    """
    candidate = await startable_candidate(source, candidate_id)
    _check_plan(plan, actor)
    trial = new_trial(TrialKind.ROLLOUT, candidate.tried, actor.now, share=plan.share, plan=plan.json)
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, trial)
        await begin_trial(connection, trial, actor)
    return trial


async def step_rollout(source: Pool, rollout_id: UUID, share: float, actor: Actor) -> Trial:
    """Change the share.

    Raises:
        TrialRefused: it does not run, or a bound is broken: then it is returned.
    """
    _check_share(share)
    rollout = await _stepping(source, rollout_id, actor)
    figures = await load_sums(source, rollout_id, actor.now)
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, rollout)
        return await take_step(connection, rollout, StepKind.SHARE, actor, share=share, figures=figures)


async def return_rollout(source: Pool, rollout_id: UUID, actor: Actor) -> Trial:
    """End a rollout, as a person decided: the settings in force decide every conversation again.

    Raises:
        TrialRefused: it does not run.
    """
    actor.check_reason()
    rollout = await _running(source, rollout_id)
    figures = await load_sums(source, rollout_id, actor.now)
    async with checkout(source) as connection, connection.transaction():
        return await take_step(connection, rollout, StepKind.RETURN, actor, share=0.0, figures=figures)


async def return_automatically(source: Pool, rollout: Trial, broken: Sequence[str], now: datetime) -> None:
    """End a rollout for what ``check_rollout`` found; the only step that a worker's login may take.

    Raises:
        TrialRefused: it does not run.
    """
    reason = _reason(broken)
    figures = await load_sums(source, rollout.trial_id, now)
    async with checkout(source) as connection, connection.transaction():
        values = rollout.trial_id, reason, Jsonb(dict(figures)), now
        if not await first_value(connection, RETURN, values):
            raise not_running(rollout.kind, rollout.trial_id)
        await store_events(connection, WebhookType.ROLLOUT_RETURNED, [_returned_event(rollout, reason, now)])


async def finish_rollout(source: Pool, rollout_id: UUID, actor: Actor) -> int:
    """Put the candidate in force for every conversation: the number of the new version of the settings.

    Raises:
        TrialRefused: it does not run, or a bound is broken: then it is returned.
        AccountRejected: the candidate cannot be used with the settings in force.
    """
    rollout = await _stepping(source, rollout_id, actor)
    account = changed(await current_account(source, rollout.user_id), rollout.changes)
    figures = await load_sums(source, rollout_id, actor.now)
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, rollout)
        # ended first, as storing other settings returns the rollouts that still run
        await change_trial(connection, rollout, StepKind.FINISH, actor.now, share=1.0)
        version = await store_version(connection, account, changed_by=actor.made_by)
        await note_step(
            connection, rollout, StepKind.FINISH, actor, share=1.0, version=version, figures=figures
        )
    return version


async def check_rollout(source: Pool, rollout: Trial, now: datetime) -> tuple[str, ...]:
    """Why a running rollout must be returned, such as a broken bound; empty for one that may go on."""
    account = await current_account(source, rollout.user_id)
    if account.version != rollout.base_version:
        return (f"version: expected {rollout.base_version} in force, got {account.version}",)
    if rollout.withdrawn:
        return ("candidate: a person withdrew it",)
    try:
        changed(account, rollout.changes)
    except AccountRejected as error:
        return (f"candidate: {error}"[:REASON_CHARS],)
    plan, figures = plan_of(rollout), await load_figures(source, rollout.trial_id, now)
    return broken_bounds(plan.bounds, figures, least=plan.least)


async def _running(source: Pool, rollout_id: UUID) -> Trial:
    rollout = await get_trial(source, rollout_id, TrialKind.ROLLOUT)
    if rollout is None or not rollout.running:
        raise not_running(TrialKind.ROLLOUT, rollout_id)
    return rollout


async def _stepping(source: Pool, rollout_id: UUID, actor: Actor) -> Trial:
    """A rollout that may take a step; one that may not is returned."""
    actor.check_reason()
    rollout = await _running(source, rollout_id)
    if broken := await check_rollout(source, rollout, actor.now):
        await return_automatically(source, rollout, broken, actor.now)
        raise TrialRefused(f"rollout: it was returned instead of the step: {_reason(broken)}")
    return rollout


def _reason(broken: Sequence[str]) -> str:
    return "; ".join(broken)[:REASON_CHARS]


def _returned_event(rollout: Trial, reason: str, now: datetime) -> WebhookEvent:
    """The event of an automatic return; its fields are those of ``tasks.webhooks.bodies``."""
    rollout_id = str(rollout.trial_id)
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


def _check_plan(plan: Plan, actor: Actor) -> None:
    _check_share(plan.share)
    actor.check_reason()
    if not plan.bounds:
        raise TrialRefused("bounds: expected at least one, such as blocks<=+0.05")
    if not 1 <= plan.least <= MOST_LEAST:
        raise TrialRefused(f"least: expected 1 to {MOST_LEAST}, got {plan.least}")
    if not 2 <= plan.planned <= MOST_LEAST:
        raise TrialRefused(f"planned: expected 2 to {MOST_LEAST}, got {plan.planned}")


def _check_share(share: float) -> None:
    if not LEAST_SHARE <= share <= 1:
        raise TrialRefused(f"share: expected {LEAST_SHARE} to 1, got {share}")


async def _lock(connection: Connection, rollout: Trial) -> None:
    """Wait for other changes of the account's settings; refuse when others are in force."""
    await connection.execute(SERIALISE, (rollout.user_id,))
    found = await first_value(connection, IN_FORCE, (rollout.user_id,))
    if found != rollout.base_version:
        raise TrialRefused(
            f"candidate: expected one that was made from version {found}, which is in force,"
            f" got one from version {rollout.base_version}; store it anew"
        )
