"""Stored decisions made again with changed settings: what a process of a trial does at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from db.pool import create_pool
from trials.jobs.model_calls import cost_of, live_ports
from trials.pure.replay.groups import FOUND, ReplayState
from trials.store.candidates import changed_account
from trials.store.differences import TrialDifference
from trials.store.recordings import load_decisions
from trials.store.replaying import CandidateUnusable, ReplayedDecision, Replayer
from worker.ports import Ports
from worker.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialBatch:
    """Decisions of one account.

    Attributes:
        role: database role of the connections; None: the role of the login.
        changes: setting -> value; empty: the settings that decided.
        base_version: version of the settings that the changes are made on; None: the one that decided each.
        full: decide every one again, without shortcuts.
        usd: what may be spent for new answers; 0: nothing is asked.
        settings: of the deployment, for the models; None: nothing is asked.
    """

    url: str
    user_id: str
    changes: Mapping[str, Any]
    ids: tuple[UUID, ...]
    role: str | None = None
    base_version: int | None = None
    full: bool = False
    usd: float = 0.0
    settings: Settings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFound:
    """What came of a batch.

    Attributes:
        counts: group -> decisions.
        differences: the decisions that would end otherwise, and those that need new answers.
        failed: decisions on which the engine raised, with the error's type.
        unusable: why the changes cannot decide at all; empty: they can.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    differences: tuple[TrialDifference, ...] = ()
    failed: tuple[tuple[UUID, str], ...] = ()
    usd: float = 0.0
    unusable: str = ""


def decide_batch(batch: TrialBatch) -> BatchFound:
    """Make the decisions again, in a process of its own.

    Raises:
        StorageUnavailable: Postgres does not answer.
    """
    return asyncio.run(_decide(batch))


async def _decide(batch: TrialBatch) -> BatchFound:
    counts: Counter[str] = Counter()
    differences: list[TrialDifference] = []
    failed: list[tuple[UUID, str]] = []
    usd = 0.0
    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(
            create_pool(batch.url, size=2, application="hushgate-trial", role=batch.role)
        )
        live: Ports | None = None
        if batch.usd > 0 and batch.settings is not None:
            live = await stack.enter_async_context(live_ports(batch.settings, source))
        replayer = Replayer(source=source, changes=batch.changes)
        if batch.base_version is not None:
            account = await changed_account(source, batch.user_id, batch.base_version, batch.changes)
            replayer = Replayer(source=source, candidates={batch.user_id: account})
        for stored in await load_decisions(source, batch.ids, light=True):
            replayer.live = live if usd < batch.usd else None
            try:
                group, made = await replayer.group_of(stored, full=batch.full or not batch.changes)
            except CandidateUnusable as error:
                return BatchFound(unusable=str(error))
            counts[group] += 1
            if made is None:
                continue
            usd += _price(batch, made)
            if made.state is ReplayState.FAILED:
                failed.append((stored.decision_id, made.why))
            if group in FOUND:
                differences.append(_difference(made))
    return BatchFound(counts=counts, differences=tuple(differences), failed=tuple(failed), usd=usd)


def _price(batch: TrialBatch, made: ReplayedDecision) -> float:
    if batch.settings is None or not made.asked or made.decision is None:
        return 0.0
    return cost_of(batch.settings, made.decision)[0]


def _difference(made: ReplayedDecision) -> TrialDifference:
    before, after = made.stored.outcome, made.difference.after if made.difference else None
    return TrialDifference(
        decision_id=made.stored.decision_id,
        kind=made.group,
        before=before.kind,
        before_code=before.reason_code,
        decision=after.kind if after else "",
        reason_code=after.reason_code if after else "",
        reason=after.reason if after else "",
        matched_rule=after.matched_rule if after else None,
        reply=after.reply if after and after.reply != before.reply else None,
        usd=made.stored.usd,
    )
