"""Bounds and shares for a first rollout, by how much a candidate may worsen before it is returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from trials.pure.rollouts.bounds import LEAST_DECISIONS, Bound, parse_bound


class RolloutPresetName(StrEnum):
    """How much a candidate may worsen."""

    CAREFUL = "careful"
    USUAL = "usual"
    WIDE = "wide"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPreset:
    """A share and bounds that fit together.

    Attributes:
        share: 0..1 of the conversations.
        least: decisions of each arm before a bound is tested.
    """

    share: float
    bounds: tuple[Bound, ...]
    least: int = LEAST_DECISIONS


def _preset(share: float, *bounds: str) -> RolloutPreset:
    return RolloutPreset(share=share, bounds=tuple(map(parse_bound, bounds)))


PRESETS: Final[Mapping[RolloutPresetName, RolloutPreset]] = MappingProxyType(
    {
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
)
