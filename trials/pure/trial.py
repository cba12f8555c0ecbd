"""A trial: changed settings that are tried, with its kind, its state and its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

FIRST_ID: Final = UUID(int=0)
"""Before every decision of a moment."""


class TrialKind(StrEnum):
    """What decides which events; stored, never renamed.

    Attributes:
        BACKTEST: past decisions of a range, made again from their recordings.
        EVALUATION: a golden set, decided by the live models.
        SHADOW: every new decision, made again beside the settings in force.
        ROLLOUT: a share of the conversations, decided by the candidate in earnest.
    """

    BACKTEST = "backtest"
    EVALUATION = "evaluation"
    SHADOW = "shadow"
    ROLLOUT = "rollout"


class TrialState(StrEnum):
    """Where a trial is; stored, never renamed.

    Attributes:
        FINISHED: all is decided, or a rollout's candidate is in force.
        RETURNED: a rollout ended, and the settings in force decide again.
        STOPPED: a person stopped a shadow.
        FAILED: a shadow was switched off, as its candidate cannot decide.
    """

    RUNNING = "running"
    FINISHED = "finished"
    RETURNED = "returned"
    STOPPED = "stopped"
    FAILED = "failed"


class StepKind(StrEnum):
    """What a step did; stored, never renamed. The last four end a trial."""

    START = "start"
    SHARE = "share"
    RETURN = "return"
    FINISH = "finish"
    STOP = "stop"
    FAIL = "fail"


STATES: Final[Mapping[StepKind, TrialState]] = {
    StepKind.START: TrialState.RUNNING,
    StepKind.SHARE: TrialState.RUNNING,
    StepKind.RETURN: TrialState.RETURNED,
    StepKind.FINISH: TrialState.FINISHED,
    StepKind.STOP: TrialState.STOPPED,
    StepKind.FAIL: TrialState.FAILED,
}
"""The state after a step; total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStep:
    """A step: who took it, when and why.

    Attributes:
        share: of a rollout from then on, 0..1.
        automatic: the engine took it: a rollout left its bounds, or a shadow's candidate cannot decide.
        version: of the settings that the step stored, or that ended a rollout.
        figures: of both arms of a rollout from the step before to this one, as
            ``trials.pure.rollouts.bounds.parse_figures`` reads them; None: not measured.
    """

    kind: str
    share: float | None
    made_by: str
    automatic: bool
    reason: str
    made_at: datetime
    version: int | None
    figures: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Changed settings that are tried.

    Attributes:
        candidate_id: the candidate that has the changes; None: a person typed them.
        base_version: of the settings that the changes were made from.
        changes: setting -> value, as ``worker.account_settings.changed`` takes it.
        set_id: the golden set of an evaluation.
        since, until: the decisions of a backtest; ``until`` None: every new one.
        reached_at, reached_id: the last decision that was looked at.
        share: 0..1 of the conversations, of a rollout.
        usd_a_day: for answers that recordings lack, a day in UTC; 0: nothing is asked.
        plan: what a kind declares further: ``total`` of a backtest, ``set_version`` of an evaluation, a
            rollout's as ``trials.pure.rollouts.plan.Plan``.
        stepped_at: of the last step, or of the end.
        done: decisions that were looked at.
        counts: group -> decisions, and of backtests what goes with them; see ``trials.jobs.backtest_job``.
        examples: some decisions of each group, without texts.
        arms: of an evaluation, one object a model, as ``trials.jobs.evaluation.EvaluatedArm.json``.
        day: of ``day_decisions`` and ``day_usd``.
        note: of the candidate, in a person's words.
        withdrawn: a person withdrew the candidate.
        steps: the oldest first.
    """

    trial_id: UUID
    user_id: str
    kind: str
    base_version: int
    changes: Mapping[str, Any]
    reached_at: datetime
    started_at: datetime
    stepped_at: datetime
    state: str = TrialState.RUNNING
    candidate_id: UUID | None = None
    set_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    reached_id: UUID = FIRST_ID
    share: float | None = None
    usd_a_day: float = 0.0
    plan: Mapping[str, Any] = field(default_factory=dict)
    done: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)
    examples: Sequence[Mapping[str, Any]] = ()
    arms: Sequence[Mapping[str, Any]] | None = None
    day: date | None = None
    day_decisions: int = 0
    day_usd: float = 0.0
    usd: float = 0.0
    note: str = ""
    withdrawn: bool = False
    steps: tuple[TrialStep, ...] = ()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.state == TrialState.RUNNING

    @property
    def started_by(self) -> str:
        """The login of the person who started it, at that time."""
        return self.steps[0].made_by if self.steps else ""

    @property
    def reason(self) -> str:
        """Why it was started."""
        return self.steps[0].reason if self.steps else ""

    @property
    def end(self) -> TrialStep | None:
        """The step that ended the trial; None for a running trial, and after the last decision."""
        last = self.steps[-1] if self.steps else None
        return last if last and not self.running and STATES[StepKind(last.kind)] == self.state else None
