"""Backtests: the decisions of a range made again with changed settings, and some of them side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from db.pool import Pool, fetch_value
from trials.pure.replay.groups import ReplayState
from trials.pure.trial import Trial, TrialKind
from trials.store.candidates import Actor, TriedSettings
from trials.store.recordings import StoredDecision, load_decisions
from trials.store.replaying import ReplayedDecision, Replayer
from trials.store.trials import list_trials, new_trial, store_trial
from worker.model import Account
from worker.recordings.recording import RecordingUnreadable
from worker.recordings.stored import decoded

TOTAL: Final = "SELECT count(*) FROM ai_decisions WHERE user_id = %s AND created_at >= %s AND created_at < %s"
CONTINUED: Final = timedelta(days=1)
"""A run that was killed continues for so long."""


def backtest_of_ids(tried: TriedSettings, total: int, now: datetime) -> Trial:
    """A backtest of chosen decisions, which is not stored and has no range."""
    return new_trial(TrialKind.BACKTEST, tried, now, plan={"total": total})


async def begin_backtest(source: Pool, tried: TriedSettings, since: datetime, actor: Actor) -> Trial:
    """The same backtest, left unfinished within a day, or a new backtest of decisions until now."""
    now = actor.now
    for known in await list_trials(source, tried.user_id, TrialKind.BACKTEST):
        if (
            known.running
            and (known.base_version, known.changes) == (tried.base_version, tried.changes)
            and known.since is not None
            and known.until is not None
            and known.until - known.since == now - since
            and known.until > now - CONTINUED
        ):
            return known
    total = await fetch_value(source, TOTAL, (tried.user_id, since, now))
    spans = {"since": since, "until": now, "reached_at": since, "plan": {"total": total}}
    trial = new_trial(TrialKind.BACKTEST, tried, now, **spans)
    await store_trial(source, trial, actor)
    return trial


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestExample:
    """A decision of a group, made again with the changed settings.

    Attributes:
        message: None when its recording is gone, such as after an erasure.
        reply: approved then; None without a reply.
        reply_now: the reply that the changed settings would approve.
        before, after: reason codes; ``after`` is empty where there is no decision.
        why: one sentence.
        rule_now: the rule that stops the event with the changed settings.
        group_now: differs from ``group`` when data, rules or the release have changed; empty: no time.
        state: None: there was no time to make it again.
    """

    decision_id: UUID
    decided_at: datetime
    group: str
    message: str | None
    reply: str | None
    before: str
    reply_now: str | None
    after: str
    why: str
    rule_now: str | None
    group_now: str
    state: ReplayState | None


async def examples_with(
    source: Pool,
    user_id: str,
    examples: Sequence[Mapping[str, Any]],
    account: Account | None,
    *,
    most_s: float | None = None,
) -> tuple[BacktestExample, ...]:
    """The examples of a backtest with their texts, in its order; those that are deleted are left out.

    Recordings are sealed: the caller logs who reads. ``account``: with the changes; None: they cannot be
    used, so that no example is made again. ``most_s``: in so many seconds, the others are not made again.
    """
    ends = None if most_s is None else asyncio.get_running_loop().time() + most_s
    replayer = Replayer(source=source, candidates={user_id: account} if account else {})
    groups = {UUID(each["decision_id"]): str(each["group"]) for each in examples}
    stored = {each.decision_id: each for each in await load_decisions(source, list(groups), light=True)}
    found = []
    for each in (stored[key] for key in groups if key in stored):
        made = await _made(replayer, each, ends) if account else _without_settings(each)
        found.append(_example(each, groups[each.decision_id], made))
    return tuple(found)


async def _made(replayer: Replayer, stored: StoredDecision, ends: float | None) -> ReplayedDecision | None:
    """The decision made again; None when time is up."""
    try:
        async with asyncio.timeout_at(ends):
            await asyncio.sleep(0)  # a replay of a compiled version never waits, so time is looked at here
            return await replayer.replay(stored)
    except TimeoutError:
        return None


def _without_settings(stored: StoredDecision) -> ReplayedDecision:
    state = ReplayState.ERASED if stored.erased else ReplayState.NO_SETTINGS
    return ReplayedDecision(stored=stored, state=state, why="the changed settings cannot be used")


def _example(stored: StoredDecision, group: str, made: ReplayedDecision | None) -> BacktestExample:
    difference = made.difference if made else None
    after = difference.after if difference else None
    why = difference.why if difference else made.why if made else ""
    return BacktestExample(
        decision_id=stored.decision_id,
        decided_at=stored.created_at,
        group=group,
        message=_message(stored),
        reply=stored.outcome.reply,
        before=stored.outcome.reason_code,
        reply_now=after.reply if after else None,
        after=after.reason_code if after else "",
        why=why,
        rule_now=after.matched_rule if after else None,
        group_now=made.group if made else "",
        state=made.state if made else None,
    )


def _message(stored: StoredDecision) -> str | None:
    if stored.recording is None or stored.erased:
        return None
    try:
        return decoded(stored.recording).event.text
    except RecordingUnreadable:
        return None
