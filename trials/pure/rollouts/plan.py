"""What a rollout declares when it starts, and plans for a first one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from trials.pure.rollouts.bounds import LEAST_DECISIONS, Bound, Measure, parse_bound
from trials.pure.statistics.sequential import PLANNED_UNITS
from trials.pure.trial import Trial


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

    @property
    def json(self) -> dict[str, Any]:
        """As it is stored with the trial; the share is stored beside it, as steps change it."""
        names = {"least": self.least, "metric": self.metric.value, "planned": self.planned}
        return {"bounds": list(map(str, self.bounds)), **names}


def plan_of(rollout: Trial) -> Plan:
    """What a rollout declared, with the share of its last step."""
    stored = rollout.plan
    return Plan(
        share=rollout.share or 0.0,
        bounds=tuple(map(parse_bound, stored["bounds"])),
        least=stored["least"],
        metric=Measure(stored["metric"]),
        planned=stored["planned"],
    )


class RolloutPresetName(StrEnum):
    """How much a candidate may worsen."""

    CAREFUL = "careful"
    USUAL = "usual"
    WIDE = "wide"


def _preset(share: float, *bounds: str) -> Plan:
    return Plan(share=share, bounds=tuple(map(parse_bound, bounds)))


PRESETS: Final[Mapping[RolloutPresetName, Plan]] = {
    RolloutPresetName.CAREFUL: _preset(
        0.05, "overturns<=+0.02", "escalations<=+0.03", "blocks<=+0.02", "latency<=x1.25", "cost<=x1.25"
    ),
    RolloutPresetName.USUAL: _preset(
        0.1, "overturns<=+0.05", "escalations<=+0.05", "blocks<=+0.05", "latency<=x1.5", "cost<=x1.5"
    ),
    RolloutPresetName.WIDE: _preset(
        0.25, "overturns<=+0.1", "escalations<=+0.1", "blocks<=+0.1", "latency<=x2", "cost<=x2"
    ),
}
"""Shares and bounds that fit together."""
