"""Runs the shadows: every new decision of their accounts, in one child process, behind the live path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog

from db.pool import Pool
from trials.jobs.batch import BatchFound, TrialBatch
from trials.jobs.child import ChildLost, ChildNotStarted, ShadowProcess
from trials.pure.replay.groups import DIFFERENCES, ReplayState, SkippedGroup
from trials.pure.trial import FIRST_ID, Trial, TrialKind
from trials.store.candidates import TrialRefused
from trials.store.differences import TrialDifference
from trials.store.progress import TrialPosition, TrialProgress, next_decisions, spent_today, store_progress
from trials.store.shadows import end_automatically
from trials.store.trials import running_trials
from worker.errors import is_outage
from worker.settings import Settings

log = structlog.get_logger(__name__)

SETTLED: Final = timedelta(seconds=5)
"""Decisions of this age are in Postgres: each is committed at once."""
CHUNK: Final = 200
ASKING_CHUNK: Final = 10
"""Chunk of a shadow that asks models, so that a batch ends in time."""
SKIPPED_AT_ONCE: Final = 20_000
BATCH_S: Final = 120.0
ALONE_S: Final = 20.0
"""For one decision; a decision takes some milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowLimits:
    """Bounds of the run.

    Attributes:
        late: age from which decisions are left out, so that a backlog does not delay new decisions.
        decisions_a_day: made again by all shadows of an account in a day (UTC).
        usd_a_day: spent by all shadows of an account in a day (UTC).
        batch_s: longest time of a batch; afterwards its decisions are made one by one.
        alone_s: longest time of one decision.
    """

    late: timedelta = timedelta(minutes=5)
    decisions_a_day: int = 50_000
    usd_a_day: float = 1.0
    settled: timedelta = SETTLED
    batch_s: float = BATCH_S
    alone_s: float = ALONE_S


@dataclass(slots=True, kw_only=True)
class ShadowRunner:
    """Takes each running shadow some decisions further.

    Attributes:
        url: of the database, for the child; ``role`` of its connections.
        settings: of the deployment, for new answers; None: nothing is asked.
        loaded: whether events wait for workers.
    """

    source: Pool
    url: str
    role: str | None
    now: Callable[[], datetime]
    child: ShadowProcess
    limits: ShadowLimits = field(default_factory=ShadowLimits)
    settings: Settings | None = None
    loaded: Callable[[], Awaitable[bool]] | None = None

    async def round(self) -> int:
        """One step of each shadow; how many decisions were looked at.

        Raises:
            StorageUnavailable: Postgres does not answer.
        """
        looked_at = 0
        for shadow in await running_trials(self.source, TrialKind.SHADOW):
            try:
                looked_at += await self._step(shadow)
            except TrialRefused:  # a person stopped it meanwhile
                continue
            except ChildNotStarted:
                raise
            except Exception as error:  # a shadow that cannot be read in time must not stop the others
                if is_outage(error):
                    raise
                log.exception("shadow_postponed", shadow_id=str(shadow.trial_id), exc_info=error)
        return looked_at

    async def _step(self, shadow: Trial) -> int:
        now = self.now()
        if shadow.withdrawn:
            why = "the candidate was withdrawn"
            await end_automatically(self.source, shadow, why, now, failed=False)
            return 0
        if shadow.reached_at < now - self.limits.late:
            return await self._skip(shadow, SkippedGroup.DROPPED, now - self.limits.late)
        if self.loaded is not None and await self.loaded():
            return 0
        decisions, usd = await spent_today(self.source, shadow.user_id, now.date())
        if decisions >= self.limits.decisions_a_day:
            return await self._skip(shadow, SkippedGroup.OVER_BUDGET, now - self.limits.settled)
        most = self.limits.decisions_a_day - decisions
        return await self._decide(shadow, now, most=most, usd_left=self.limits.usd_a_day - usd)

    async def _skip(self, shadow: Trial, group: SkippedGroup, before: datetime) -> int:
        """Leave out the oldest decisions."""
        if before <= shadow.reached_at:
            return 0
        positions = await next_decisions(self.source, shadow, before=before, most=SKIPPED_AT_ONCE)
        full = len(positions) == SKIPPED_AT_ONCE
        to = positions[-1] if full else TrialPosition(at=before, decision_id=FIRST_ID)
        counts = {group.value: len(positions)} if positions else {}
        done = TrialProgress(to=to, counts=counts, seen=len(positions))
        await store_progress(self.source, shadow, done, self.now().date())
        return len(positions)

    async def _decide(self, shadow: Trial, now: datetime, *, most: int, usd_left: float) -> int:
        usd = max(0.0, min(usd_left, shadow.usd_a_day - (shadow.day_usd if shadow.day == now.date() else 0)))
        chunk = ASKING_CHUNK if usd > 0 and self.settings else CHUNK
        positions = await next_decisions(
            self.source, shadow, before=now - self.limits.settled, most=min(most, chunk)
        )
        if not positions:
            return 0
        work = TrialBatch(
            url=self.url,
            role=self.role,
            user_id=shadow.user_id,
            changes=shadow.changes,
            ids=tuple(each.decision_id for each in positions),
            usd=usd,
            settings=self.settings if usd > 0 else None,
        )
        found = await self._found(work)
        if found.unusable:
            await self._switch_off(shadow, found.unusable)
            return 0
        done = TrialProgress(
            to=positions[-1],
            counts=found.counts,
            seen=len(positions),
            differences=[each for each in found.differences if each.kind in DIFFERENCES],
            decided=len(positions),
            usd=found.usd,
        )
        await store_progress(self.source, shadow, done, now.date())
        return len(positions)

    async def _found(self, work: TrialBatch) -> BatchFound:
        """What the child found; a batch that loses the child is made one by one, without asking.

        A candidate that cannot decide what the live settings decide is unusable.
        """
        alone = len(work.ids) == 1
        try:
            most_s = self.limits.alone_s if alone else self.limits.batch_s
            found = await self.child.decide(work, most_s=most_s)
        except ChildLost as error:
            return await (self._lost(work, error) if alone else self._one_by_one(work))
        for decision_id, why in found.failed:
            if await self._decides_live(work, decision_id):
                return BatchFound(unusable=why)
        return found

    async def _lost(self, work: TrialBatch, error: ChildLost) -> BatchFound:
        if await self._decides_live(work, work.ids[0]):
            return BatchFound(unusable=str(error))
        return BatchFound(counts={ReplayState.FAILED: 1}, usd=work.usd)

    async def _one_by_one(self, work: TrialBatch) -> BatchFound:
        counts: Counter[str] = Counter()
        differences: list[TrialDifference] = []
        for decision_id in work.ids:
            found = await self._found(_alone(work, decision_id, work.changes))
            if found.unusable:
                return found
            counts.update(found.counts)
            differences += found.differences
        # what the lost child may have spent counts as spent
        return BatchFound(counts=counts, differences=tuple(differences), usd=work.usd)

    async def _decides_live(self, work: TrialBatch, decision_id: UUID) -> bool:
        """Whether the settings that decided can decide again: then the candidate is at fault."""
        try:
            found = await self.child.decide(_alone(work, decision_id, {}), most_s=self.limits.alone_s)
        except ChildLost:
            return False
        return not found.failed

    async def _switch_off(self, shadow: Trial, why: str) -> None:
        await end_automatically(self.source, shadow, why, self.now())
        log.warning(
            "shadow_switched_off",
            user_id=shadow.user_id,
            shadow_id=str(shadow.trial_id),
            candidate_id=str(shadow.candidate_id),
            why=why,
        )


def _alone(work: TrialBatch, decision_id: UUID, changes: Mapping[str, Any]) -> TrialBatch:
    return TrialBatch(url=work.url, role=work.role, user_id=work.user_id, changes=changes, ids=(decision_id,))
