"""Examples of a backtest side by side: the message, what became of it, and what would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from db.account_versions import get_version
from db.candidates.backtests import Backtest
from db.candidates.recordings import StoredDecision, load_decisions
from db.candidates.replaying import Replayer
from db.pool import Pool
from worker.account_settings import changed
from worker.model import Account
from worker.replay.recording import RecordingUnreadable
from worker.replay.stored import decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestExample:
    """A decision of a group, made again with the changed settings.

    Attributes:
        message: None when its recording is gone, such as after an erasure.
        reply: that was approved then; None: there was none.
        reply_now: that the changed settings would approve.
        before, after: reason codes; ``after`` is empty where there is no decision.
        why: one sentence.
    """

    decision_id: UUID
    group: str
    message: str | None
    reply: str | None
    before: str
    reply_now: str | None
    after: str
    why: str


async def changed_settings(
    source: Pool, user_id: str, base_version: int, changes: Mapping[str, Any]
) -> Account:
    """The settings that a backtest tries."""
    base = await get_version(source, user_id, base_version)
    return changed(base.account if base else Account(user_id=user_id, version=0), dict(changes))


async def load_examples(source: Pool, found: Backtest) -> tuple[BacktestExample, ...]:
    """The examples of a backtest with their texts, in its order; those that are deleted are left out.

    Recordings are sealed: the caller logs who reads.
    """
    account = await changed_settings(source, found.user_id, found.base_version, found.changes)
    replayer = Replayer(source=source, candidates={found.user_id: account})
    groups = {UUID(each["decision_id"]): str(each["group"]) for each in found.examples}
    stored = {each.decision_id: each for each in await load_decisions(source, list(groups), light=True)}
    return tuple([await _example(replayer, stored[key], groups[key]) for key in groups if key in stored])


async def _example(replayer: Replayer, stored: StoredDecision, group: str) -> BacktestExample:
    made = await replayer.replay(stored)
    after = made.difference.after if made.difference else None
    return BacktestExample(
        decision_id=stored.decision_id,
        group=group,
        message=_message(stored),
        reply=stored.outcome.reply,
        before=stored.outcome.reason_code,
        reply_now=after.reply if after else None,
        after=after.reason_code if after else "",
        why=made.difference.why if made.difference else made.why,
    )


def _message(stored: StoredDecision) -> str | None:
    if stored.recording is None or stored.erased:
        return None
    try:
        return decoded(stored.recording).event.text
    except RecordingUnreadable:
        return None
