"""Decisions made again with a shadow's candidate: what runs in the child process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from db.pool import Pool, create_pool
from trials.jobs.live import cost_of, live_ports
from trials.pure.replay.difference import Difference, DifferenceKind
from trials.pure.replay.shortcut import is_unchanged
from trials.store.recordings import StoredDecision, load_decisions
from trials.store.replaying import ReplayedDecision, Replayer, ReplayState
from trials.store.shadow_results import ShadowFinding
from worker.account_settings import AccountRejected, changed
from worker.model import Account
from worker.ports import Ports
from worker.recordings.recording import Recording, RecordingUnreadable
from worker.recordings.stored import decoded
from worker.settings import Settings

UNUSABLE: Final = "the candidate cannot be used with version {} of the settings"


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


class CandidateUnusable(Exception):
    """The candidate's changes do not fit the settings that decided."""


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
        candidate = ShadowCandidate(source=source, changes=work.changes)
        for stored in await load_decisions(source, work.ids, light=True):
            try:
                made = await candidate.decide(stored, live if usd < work.usd else None)
            except CandidateUnusable as error:
                return ShadowFound(unusable=str(error))
            if made is None:
                counts[DifferenceKind.UNCHANGED] += 1
                continue
            counts[made.difference.kind if made.difference else made.state] += 1
            usd += _price(work, made)
            if made.state is ReplayState.FAILED:
                failed.append((stored.decision_id, made.why))
            if made.difference and made.difference.kind is not DifferenceKind.UNCHANGED:
                findings.append(_finding(stored, made.difference))
    return ShadowFound(counts=counts, findings=tuple(findings), failed=tuple(failed), usd=usd)


@dataclass(slots=True, kw_only=True)
class ShadowCandidate:
    """Makes decisions again with changes on top of the settings that decided each."""

    source: Pool
    changes: Mapping[str, Any]
    _pinned: Replayer = field(init=False)
    _replayers: dict[tuple[int, UUID | None], Replayer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pinned = Replayer(source=self.source)

    async def decide(self, stored: StoredDecision, live: Ports | None) -> ReplayedDecision | None:
        """The decision made again; None when it certainly ends as it did.

        Raises:
            CandidateUnusable: the changes do not fit the settings that decided.
        """
        recording = _recording(stored)
        if recording is None or not self.changes:
            return await self._pinned.replay(stored)
        if (before := await self._pinned.account_of(stored, recording.rules_version)) is None:
            return await self._pinned.replay(stored)
        replayer = self._replayer(stored, recording, before)
        version = await replayer.version(stored, recording)
        if version and not stored.overtaken and is_unchanged(recording, stored.outcome, before, version):
            return None
        replayer.live = live
        return await replayer.replay(stored)

    def _replayer(self, stored: StoredDecision, recording: Recording, before: Account) -> Replayer:
        key = (recording.rules_version, stored.candidate_id)
        if key not in self._replayers:
            try:
                account = changed(before, self.changes)
            except AccountRejected as error:
                fields = ", ".join(sorted({name for name, _ in error.problems}))
                raise CandidateUnusable(f"{UNUSABLE.format(recording.rules_version)}: {fields}") from error
            self._replayers[key] = Replayer(source=self.source, candidates={stored.user_id: account})
        return self._replayers[key]


def _recording(stored: StoredDecision) -> Recording | None:
    """The recording, where there is one that can be read; the replay says which of these it is."""
    if stored.recording is None or stored.erased:
        return None
    try:
        return decoded(stored.recording)
    except RecordingUnreadable:
        return None


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
