"""Rollouts: a candidate decides a share of conversations, step by step, until it is finished or returned.

A step is one transaction, under the lock of the account's settings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from db.access_log import LogEntry, LoggedAction, append_entry_psycopg
from db.accounts import IN_FORCE, SERIALISE, current_account, store_version
from db.candidates.candidates import checked_account, get_candidate
from db.candidates.rollout_figures import load_figures
from db.identifiers import uuid_at
from db.pool import Pool, PoolConnection, checkout, fetch_dicts
from worker.account_settings import AccountRejected, changed
from worker.errors import RejectedError
from worker.rollouts.arms import RunningRollout
from worker.rollouts.bounds import LEAST_DECISIONS, MOST_LEAST, Bound, Measure, broken_bounds, parse_bound
from worker.statistics.sequential import PLANNED_UNITS

REASON_CHARS: Final = 500
LEAST_SHARE: Final = 0.001
GUARD: Final = "guardrail"
"""The author of an automatic return."""
COLUMNS: Final = (
    "id AS rollout_id, user_id, candidate_id, base_version, share, state, bounds, least, metric, planned,"
    " stepped_at"
)
INSERT: Final = f"""
    INSERT INTO rollouts (id, user_id, candidate_id, base_version, share, bounds, least, metric, planned,
        stepped_at)
    VALUES (%(id)s, %(user_id)s, %(candidate_id)s, %(base_version)s, %(share)s, %(bounds)s, %(least)s,
        %(metric)s, %(planned)s, %(now)s)
    RETURNING {COLUMNS}
"""
STEP: Final = """
    INSERT INTO rollout_steps (rollout_id, kind, share, made_by, reason, made_at, version)
    VALUES (%(id)s, %(kind)s, %(share)s, %(made_by)s, %(reason)s, %(now)s, %(version)s)
"""
CHANGE: Final = f"""
    UPDATE rollouts SET state = %(state)s, share = coalesce(%(share)s::float8, share), stepped_at = %(now)s
    WHERE id = %(id)s AND state = 'running' RETURNING {COLUMNS}
"""
GET: Final = f"SELECT {COLUMNS} FROM rollouts WHERE id = %s"
LIST: Final = f"SELECT {COLUMNS} FROM rollouts WHERE user_id = %s ORDER BY id DESC LIMIT %s"
ALL_RUNNING: Final = f"SELECT {COLUMNS} FROM rollouts WHERE state = 'running' ORDER BY user_id"
STEPS: Final = """
    SELECT kind, share, made_by, reason, made_at, version FROM rollout_steps WHERE rollout_id = %s ORDER BY id
"""
RUNNING: Final = """
    SELECT r.id AS rollout_id, r.candidate_id, r.user_id, r.base_version, c.changes, r.share
    FROM rollouts r JOIN candidates c ON c.id = r.candidate_id
    WHERE r.user_id = ANY(%s) AND r.state = 'running'
"""


class RolloutState(StrEnum):
    """Where a rollout is; stored, never renamed."""

    RUNNING = "running"
    RETURNED = "returned"
    FINISHED = "finished"


class StepKind(StrEnum):
    """What a step did; stored, never renamed."""

    START = "start"
    SHARE = "share"
    RETURN = "return"
    FINISH = "finish"


class RolloutRefused(RejectedError):
    """A step that cannot be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A candidate on a share of an account's conversations; ``stepped_at`` is when its last step was."""

    rollout_id: UUID
    user_id: str
    candidate_id: UUID
    base_version: int
    share: float
    state: str
    bounds: Sequence[str]
    least: int
    metric: str
    planned: int
    stepped_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStep:
    """A step with its author and reason; ``version`` of the settings that it stored, or that ended all."""

    kind: str
    share: float
    made_by: str
    reason: str
    made_at: datetime
    version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a rollout declares when it starts.

    Attributes:
        share: 0..1 of the conversations.
        least: decisions before a bound is tested.
        planned: conversations at which the interval of the metric is narrowest.
    """

    share: float
    bounds: tuple[Bound, ...]
    least: int = LEAST_DECISIONS
    metric: Measure = Measure.OVERTURNS
    planned: int = PLANNED_UNITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who takes a step, when and why."""

    made_by: str
    reason: str
    now: datetime


async def start_rollout(source: Pool, candidate_id: UUID, plan: Plan, author: Author) -> Rollout:
    """Let a candidate decide a share of its account's conversations.

    Raises:
        RolloutRefused: no such candidate, withdrawn, made from settings that are not in force, without
            bounds, or another rollout of the account runs.
        AccountRejected: this release cannot use the candidate.
    """
    candidate = await get_candidate(source, candidate_id)
    if candidate is None or candidate.withdrawn_at is not None:
        raise RolloutRefused(f"candidate: expected one that is not withdrawn, got {candidate_id}")
    _check_plan(plan, author)
    checked_account(await current_account(source, candidate.user_id), candidate.changes)
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
            raise RolloutRefused(
                f"rollout: expected one of {candidate.user_id} at a time, got a second"
            ) from None
        assert started is not None  # INSERT ... RETURNING gives a row or raises
        await _note(connection, started, StepKind.START, plan.share, author)
    return started


async def step_rollout(source: Pool, rollout_id: UUID, share: float, author: Author) -> Rollout:
    """Change the share.

    Raises:
        RolloutRefused: it does not run, or a bound is broken: then it is returned.
    """
    _check_share(share)
    rollout = await _stepping(source, rollout_id, author)
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, rollout.user_id, rollout.base_version)
        changed_to = await _change(connection, rollout_id, RolloutState.RUNNING, share, author.now)
        await _note(connection, changed_to, StepKind.SHARE, share, author)
    return changed_to


async def return_rollout(source: Pool, rollout_id: UUID, author: Author) -> Rollout:
    """End a rollout: the settings in force decide every conversation again.

    Raises:
        RolloutRefused: it does not run.
    """
    _check_reason(author)
    async with checkout(source) as connection, connection.transaction():
        ended = await _change(connection, rollout_id, RolloutState.RETURNED, None, author.now)
        await _note(connection, ended, StepKind.RETURN, 0.0, author)
    return ended


async def finish_rollout(source: Pool, rollout_id: UUID, author: Author) -> int:
    """Put the candidate in force for every conversation: the number of the new version of the settings.

    Raises:
        RolloutRefused: it does not run, or a bound is broken: then it is returned.
    """
    rollout = await _stepping(source, rollout_id, author)
    candidate = await get_candidate(source, rollout.candidate_id)
    assert candidate is not None  # the rollout refers to it
    account = changed(await current_account(source, rollout.user_id), candidate.changes)
    async with checkout(source) as connection, connection.transaction():
        await _lock(connection, rollout.user_id, rollout.base_version)
        ended = await _change(connection, rollout_id, RolloutState.FINISHED, 1.0, author.now)
        version = await store_version(connection, account, changed_by=author.made_by)
        await _note(connection, ended, StepKind.FINISH, 1.0, author, version=version)
    return version


async def check_rollout(source: Pool, rollout: Rollout, now: datetime) -> tuple[str, ...]:
    """Why a running rollout must be returned, such as a broken bound; empty: it may go on."""
    account = await current_account(source, rollout.user_id)
    if account.version != rollout.base_version:
        return (f"version: expected {rollout.base_version} in force, got {account.version}",)
    candidate = await get_candidate(source, rollout.candidate_id)
    try:
        changed(account, candidate.changes if candidate else {})
    except AccountRejected as error:
        return (f"candidate: {error}"[:REASON_CHARS],)
    figures = await load_figures(source, rollout.rollout_id, now)
    return broken_bounds([parse_bound(each) for each in rollout.bounds], figures, least=rollout.least)


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
    return tuple(RolloutStep(**row) for row in await fetch_dicts(source, STEPS, (rollout_id,)))


async def running_rollouts(source: Pool, user_ids: Collection[str]) -> Mapping[str, RunningRollout]:
    """The running rollouts of these accounts, by account."""
    rows = await fetch_dicts(source, RUNNING, (list(user_ids),))
    return {row["user_id"]: RunningRollout(**row) for row in rows}


async def _stepping(source: Pool, rollout_id: UUID, author: Author) -> Rollout:
    """A rollout that may take a step; one that may not is returned."""
    _check_reason(author)
    rollout = await get_rollout(source, rollout_id)
    if rollout is None or rollout.state != RolloutState.RUNNING:
        raise _not_running(rollout_id)
    if broken := await check_rollout(source, rollout, author.now):
        reason = "; ".join(broken)[:REASON_CHARS]
        await return_rollout(source, rollout_id, Author(made_by=GUARD, reason=reason, now=author.now))
        raise RolloutRefused(f"rollout: it was returned instead of the step: {reason}")
    return rollout


def _not_running(rollout_id: UUID) -> RolloutRefused:
    return RolloutRefused(f"rollout: expected one that runs, got {rollout_id}")


def _check_plan(plan: Plan, author: Author) -> None:
    _check_share(plan.share)
    _check_reason(author)
    if not plan.bounds:
        raise RolloutRefused("bounds: expected at least one, such as blocks<=+0.05")
    if not 1 <= plan.least <= MOST_LEAST:
        raise RolloutRefused(f"least: expected 1 to {MOST_LEAST}, got {plan.least}")
    if not 2 <= plan.planned <= MOST_LEAST:
        raise RolloutRefused(f"planned: expected 2 to {MOST_LEAST}, got {plan.planned}")


def _check_share(share: float) -> None:
    if not LEAST_SHARE <= share <= 1:
        raise RolloutRefused(f"share: expected {LEAST_SHARE} to 1, got {share}")


def _check_reason(author: Author) -> None:
    if not 0 < len(author.reason.strip()) <= REASON_CHARS:
        raise RolloutRefused(f"reason: expected 1 to {REASON_CHARS} characters, got {len(author.reason)}")


async def _lock(connection: PoolConnection, user_id: str, base_version: int) -> None:
    """Wait for other changes of the account's settings; refuse when others are in force."""
    await connection.execute(SERIALISE, (user_id,))
    found = await (await connection.execute(IN_FORCE, (user_id,))).fetchone()
    if found and found[0] != base_version:
        raise RolloutRefused(
            f"candidate: expected one that was made from version {found[0]}, which is in force,"
            f" got one from version {base_version}; store it anew"
        )


async def _change(
    connection: PoolConnection, rollout_id: UUID, state: RolloutState, share: float | None, now: datetime
) -> Rollout:
    cursor = connection.cursor(row_factory=class_row(Rollout))
    values = {"id": rollout_id, "state": state.value, "share": share, "now": now}
    found = await (await cursor.execute(CHANGE, values)).fetchone()
    if found is None:
        raise _not_running(rollout_id)
    return found


async def _note(
    connection: PoolConnection,
    rollout: Rollout,
    kind: StepKind,
    share: float,
    author: Author,
    *,
    version: int | None = None,
) -> None:
    """Store the step, and a line of the access log when a person took it."""
    values: dict[str, Any] = {"id": rollout.rollout_id, "kind": kind.value, "share": share}
    values |= {"made_by": author.made_by, "reason": author.reason, "now": author.now, "version": version}
    await connection.execute(STEP, values)
    if author.made_by == GUARD:
        return
    detail = {"rollout": str(rollout.rollout_id), "step": kind.value, "share": share, "version": version}
    entry = LogEntry(
        action=LoggedAction.SETTINGS,
        person=author.made_by,
        user_id=rollout.user_id,
        detail=detail | {"reason": author.reason},
    )
    await append_entry_psycopg(connection, entry)
