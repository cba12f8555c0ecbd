"""A rollout, its steps, and what it declares when it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from trials.pure.rollouts.bounds import LEAST_DECISIONS, Bound, Measure, RolloutFigures
from trials.pure.statistics.sequential import PLANNED_UNITS
from worker.errors import RejectedError

REASON_CHARS: Final = 500
GUARD: Final = "guardrail"
"""The author of an automatic return."""


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

    @property
    def started_at(self) -> datetime:
        """When it was started, from its id."""
        return datetime.fromtimestamp((self.rollout_id.int >> 80) / 1000, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStep:
    """A step with its author and reason.

    Attributes:
        version: of the settings that the step stored, or that ended the rollout.
        figures: of both arms from the step before to this one; None where they were not measured.
    """

    kind: str
    share: float
    made_by: str
    reason: str
    made_at: datetime
    version: int | None
    figures: RolloutFigures | None = None


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
