"""The steps of a rollout: started, given another share, returned or finished.

A step is one transaction, under the lock of the account's settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from db.access_log import append_entry
from db.account_settings.accounts import IN_FORCE, SERIALISE, current_account, store_version
from db.connection import Connection
from db.identifiers import uuid_at
from db.pool import Pool, checkout
from db.webhooks.subscriptions import store_events
from trials.pure.rollouts.bounds import MOST_LEAST, RolloutFigures, broken_bounds, figures_json, parse_bound
from trials.store.candidates import REASON_CHARS, Author, TrialRefused, get_candidate, startable_candidate
from trials.store.returned import returned_event
from trials.store.rollouts import (
    COLUMNS,
    GET,
    Plan,
    Rollout,
    RolloutState,
    StepKind,
    get_rollout,
    load_figures,
)
from worker.account_settings import AccountRejected, changed
from worker.webhooks.types import WebhookType

LEAST_SHARE: Final = 0.001
INSERT: Final = f"""
    INSERT INTO rollouts (id, user_id, candidate_id, base_version, share, bounds, least, metric, planned,
        stepped_at)
    VALUES (%(id)s, %(user_id)s, %(candidate_id)s, %(base_version)s, %(share)s, %(bounds)s, %(least)s,
        %(metric)s, %(planned)s, %(now)s)
    RETURNING {COLUMNS}
"""
STEP: Final = """
    INSERT INTO rollout_steps (rollout_id, kind, share, made_by, reason, made_at, version, figures)
    VALUES (%(id)s, %(kind)s, %(share)s, %(made_by)s, %(reason)s, %(now)s, %(version)s, %(figures)s)
"""
RETURN: Final = "SELECT hushgate_return_rollout(%s, %s, %s, %s)"
CHANGE: Final = f"""
    UPDATE rollouts SET state = %(state)s, share = coalesce(%(share)s::float8, share), stepped_at = %(now)s
    WHERE id = %(id)s AND state = 'running' RETURNING {COLUMNS}
"""


async def start_rollout(source: Pool, candidate_id: UUID, plan: Plan, author: Author) -> Rollout:
    """Let a candidate decide a share of its account's conversations.

    Raises:
        TrialRefused: no such candidate, withdrawn, made from settings that are not in force, without
            bounds, or another rollout of the account runs.
        AccountRejected: this release cannot use the candidate.
    """
    candidate = await startable_candidate(source, candidate_id)
    _check_plan(plan, author)
    values = {
        "id": uuid_at(author.now),
        "user_id": candidate.user_id,
        "candidate_id": candidate_id,
        "base_version": candidate.base_version,
        "share": plan.share,
        "bounds": [str(each) for each in plan.bounds],
        "least": plan.least,
        "metric": plan.metric.value,
        "planned": plan.planned,
        "now": author.now,
    }
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, candidate.user_id, candidate.base_version)
        try:
            cursor = connection.cursor(row_factory=class_row(Rollout))
            started = await (await cursor.execute(INSERT, values)).fetchone()
        except psycopg.errors.UniqueViolation:
            raise TrialRefused(
                f"rollout: expected one of {candidate.user_id} at a time, got a second"
            ) from None
        assert started is not None  # INSERT ... RETURNING gives a row or raises
        await _note(connection, started, StepKind.START, plan.share, author)
    return started


async def step_rollout(source: Pool, rollout_id: UUID, share: float, author: Author) -> Rollout:
    """Change the share.

    Raises:
        TrialRefused: it does not run, or a bound is broken: then it is returned.
    """
    _check_share(share)
    rollout = await _stepping(source, rollout_id, author)
    figures = await load_figures(source, rollout_id, author.now)
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, rollout.user_id, rollout.base_version)
        changed_to = await _change(connection, rollout_id, RolloutState.RUNNING, share, author.now)
        await _note(connection, changed_to, StepKind.SHARE, share, author, figures=figures)
    return changed_to


async def return_rollout(source: Pool, rollout_id: UUID, author: Author) -> Rollout:
    """End a rollout, as a person decided: the settings in force decide every conversation again.

    Raises:
        TrialRefused: it does not run.
    """
    author.check_reason()
    figures = await load_figures(source, rollout_id, author.now)
    async with checkout(source) as connection, connection.transaction():
        ended = await _change(connection, rollout_id, RolloutState.RETURNED, None, author.now)
        await _note(connection, ended, StepKind.RETURN, 0.0, author, figures=figures)
    return ended


async def return_automatically(
    source: Pool, rollout_id: UUID, broken: Sequence[str], now: datetime
) -> Rollout:
    """End a rollout for what ``check_rollout`` found; the only step that a worker's login may take.

    Raises:
        TrialRefused: it does not run.
    """
    reason = _reason(broken)
    figures = await load_figures(source, rollout_id, now)
    values = (rollout_id, reason, Jsonb(figures_json(figures)), now)
    async with checkout(source) as connection, connection.transaction():
        found = await (await connection.execute(RETURN, values)).fetchone()
        if found is None or not found[0]:
            raise _not_running(rollout_id)
        cursor = connection.cursor(row_factory=class_row(Rollout))
        ended = await (await cursor.execute(GET, (rollout_id,))).fetchone()
        assert ended is not None  # the function has just changed it
        await store_events(connection, WebhookType.ROLLOUT_RETURNED, [returned_event(ended, reason, now)])
    return ended


async def finish_rollout(source: Pool, rollout_id: UUID, author: Author) -> int:
    """Put the candidate in force for every conversation: the number of the new version of the settings.

    Raises:
        TrialRefused: it does not run, or a bound is broken: then it is returned.
        AccountRejected: the candidate cannot be used with the settings in force.
    """
    rollout = await _stepping(source, rollout_id, author)
    candidate = await get_candidate(source, rollout.candidate_id)
    assert candidate is not None  # the rollout refers to it
    account = changed(await current_account(source, rollout.user_id), candidate.changes)
    figures = await load_figures(source, rollout_id, author.now)
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, rollout.user_id, rollout.base_version)
        # first, as storing other settings returns the rollouts that still run
        ended = await _change(connection, rollout_id, RolloutState.FINISHED, 1.0, author.now)
        version = await store_version(connection, account, changed_by=author.made_by)
        await _note(connection, ended, StepKind.FINISH, 1.0, author, version=version, figures=figures)
    return version


async def check_rollout(source: Pool, rollout: Rollout, now: datetime) -> tuple[str, ...]:
    """Why a running rollout must be returned, such as a broken bound; empty: it may go on."""
    account = await current_account(source, rollout.user_id)
    if account.version != rollout.base_version:
        return (f"version: expected {rollout.base_version} in force, got {account.version}",)
    candidate = await get_candidate(source, rollout.candidate_id)
    if candidate is not None and candidate.withdrawn_at is not None:
        return ("candidate: a person withdrew it",)
    try:
        changed(account, candidate.changes if candidate else {})
    except AccountRejected as error:
        return (f"candidate: {error}"[:REASON_CHARS],)
    figures = await load_figures(source, rollout.rollout_id, now)
    return broken_bounds([parse_bound(each) for each in rollout.bounds], figures, least=rollout.least)


async def _stepping(source: Pool, rollout_id: UUID, author: Author) -> Rollout:
    """A rollout that may take a step; one that may not is returned."""
    author.check_reason()
    rollout = await get_rollout(source, rollout_id)
    if rollout is None or rollout.state != RolloutState.RUNNING:
        raise _not_running(rollout_id)
    if broken := await check_rollout(source, rollout, author.now):
        await return_automatically(source, rollout_id, broken, author.now)
        raise TrialRefused(f"rollout: it was returned instead of the step: {_reason(broken)}")
    return rollout


def _reason(broken: Sequence[str]) -> str:
    return "; ".join(broken)[:REASON_CHARS]


def _not_running(rollout_id: UUID) -> TrialRefused:
    return TrialRefused(f"rollout: expected one that runs, got {rollout_id}")


def _check_plan(plan: Plan, author: Author) -> None:
    _check_share(plan.share)
    author.check_reason()
    if not plan.bounds:
        raise TrialRefused("bounds: expected at least one, such as blocks<=+0.05")
    if not 1 <= plan.least <= MOST_LEAST:
        raise TrialRefused(f"least: expected 1 to {MOST_LEAST}, got {plan.least}")
    if not 2 <= plan.planned <= MOST_LEAST:
        raise TrialRefused(f"planned: expected 2 to {MOST_LEAST}, got {plan.planned}")


def _check_share(share: float) -> None:
    if not LEAST_SHARE <= share <= 1:
        raise TrialRefused(f"share: expected {LEAST_SHARE} to 1, got {share}")


async def _lock(connection: Connection, user_id: str, base_version: int) -> None:
    """Wait for other changes of the account's settings; refuse when others are in force."""
    await connection.execute(SERIALISE, (user_id,))
    found = await (await connection.execute(IN_FORCE, (user_id,))).fetchone()
    if found and found[0] != base_version:
        raise TrialRefused(
            f"candidate: expected one that was made from version {found[0]}, which is in force,"
            f" got one from version {base_version}; store it anew"
        )


async def _change(
    connection: Connection, rollout_id: UUID, state: RolloutState, share: float | None, now: datetime
) -> Rollout:
    cursor = connection.cursor(row_factory=class_row(Rollout))
    values = {"id": rollout_id, "state": state.value, "share": share, "now": now}
    found = await (await cursor.execute(CHANGE, values)).fetchone()
    if found is None:
        raise _not_running(rollout_id)
    return found


async def _note(
    connection: Connection,
    rollout: Rollout,
    kind: StepKind,
    share: float,
    author: Author,
    *,
    version: int | None = None,
    figures: RolloutFigures | None = None,
) -> None:
    """Store the step, and a line of the access log."""
    values: dict[str, Any] = {"id": rollout.rollout_id, "kind": kind.value, "share": share}
    values |= {"made_by": author.made_by, "reason": author.reason, "now": author.now, "version": version}
    values["figures"] = None if figures is None else Jsonb(figures_json(figures))
    await connection.execute(STEP, values)
    detail = {"rollout": str(rollout.rollout_id), "step": kind.value, "share": share, "version": version}
    await append_entry(connection, author.logged(rollout.user_id, detail))
