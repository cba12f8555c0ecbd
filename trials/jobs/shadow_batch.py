"""Decisions made again with a shadow's candidate: what runs in the child process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from db.pool import create_pool
from trials.jobs.live import cost_of, live_ports
from trials.pure.replay.difference import Difference, DifferenceKind
from trials.store.recordings import StoredDecision, load_decisions
from trials.store.replaying import CandidateUnusable, ReplayedDecision, Replayer, ReplayState
from trials.store.shadow_results import ShadowFinding
from worker.ports import Ports
from worker.settings import Settings


class SkippedGroup(StrEnum):
    """Decisions that a shadow did not make again; counted beside ``DifferenceKind`` and ``ReplayState``.

    Attributes:
        DROPPED: too old before their turn came.
        OVER_BUDGET: the account's decisions of the day were used up.
    """

    DROPPED = "dropped"
    OVER_BUDGET = "over_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowWork:
    """Decisions of one account for the child.

    Attributes:
        role: database role of its connections; None: that of the login.
        changes: setting -> value; empty: the settings that decided.
        usd: what may be spent for new answers; 0: nothing is asked.
        settings: of the deployment, for the models; None: nothing is asked.
    """

    url: str
    role: str | None
    user_id: str
    changes: Mapping[str, Any]
    ids: tuple[UUID, ...]
    usd: float = 0.0
    settings: Settings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowFound:
    """What came of the work.

    Attributes:
        counts: group -> decisions.
        failed: decisions on which the engine raised, with the error's type.
        unusable: why the candidate cannot decide at all; empty: it can.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[ShadowFinding, ...] = ()
    failed: tuple[tuple[UUID, str], ...] = ()
    usd: float = 0.0
    unusable: str = ""


def decide_batch(work: ShadowWork) -> ShadowFound:
    """Make the decisions again, in a process of its own.

    Raises:
        StorageUnavailable: Postgres does not answer.
    """
    return asyncio.run(_decide(work))


async def _decide(work: ShadowWork) -> ShadowFound:
    counts: Counter[str] = Counter()
    findings: list[ShadowFinding] = []
    failed: list[tuple[UUID, str]] = []
    usd = 0.0
    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(
            create_pool(work.url, size=2, application="hushgate-shadow", role=work.role)
        )
        live: Ports | None = None
        if work.usd > 0 and work.settings is not None:
            live = await stack.enter_async_context(live_ports(work.settings, source))
        replayer = Replayer(source=source, changes=work.changes)
        for stored in await load_decisions(source, work.ids, light=True):
            replayer.live = live if usd < work.usd else None
            try:
                group, made = await replayer.group_of(stored, full=not work.changes)
            except CandidateUnusable as error:
                return ShadowFound(unusable=str(error))
            counts[group] += 1
            if made is None:
                continue
            usd += _price(work, made)
            if made.state is ReplayState.FAILED:
                failed.append((stored.decision_id, made.why))
            if made.difference and made.difference.kind is not DifferenceKind.UNCHANGED:
                findings.append(_finding(stored, made.difference))
    return ShadowFound(counts=counts, findings=tuple(findings), failed=tuple(failed), usd=usd)


def _price(work: ShadowWork, made: ReplayedDecision) -> float:
    if work.settings is None or made.replay is None or not made.replay.asked or made.replay.decision is None:
        return 0.0
    return cost_of(work.settings, made.replay.decision)[0]


def _finding(stored: StoredDecision, found: Difference) -> ShadowFinding:
    after = found.after
    return ShadowFinding(
        decision_id=stored.decision_id,
        kind=found.kind.value,
        before_code=stored.outcome.reason_code,
        decision=after.kind,
        reason_code=after.reason_code,
        reason=after.reason,
        matched_rule=after.matched_rule,
        reply=after.reply if after.reply != stored.outcome.reply else None,
    )
