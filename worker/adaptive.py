"""Thresholds that may move automatically: their bounds, and one step towards what reviews support."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

CONFIDENCE: Final = "confidence"
CATEGORY: Final = "category:"
STEP: Final = 0.02
"""The most that a threshold moves in a day."""
AUTHOR: Final = "adaptive"
"""Author of the versions of settings that are steps."""
_BOUNDS: Final = re.compile(r"(0|1|0?\.\d{1,6}|1\.0+)\s*-\s*(0|1|0?\.\d{1,6}|1\.0+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdBounds:
    """The least and the highest value of a threshold, 0..1."""

    low: float
    high: float


def parse_bounds(text: str) -> ThresholdBounds:
    """The bounds of a text such as ``0.60-0.95``.

    Raises:
        ValueError: it is none, or the first is not below the second.
    """
    found = _BOUNDS.fullmatch(text.strip())
    if found is None or float(found[1]) >= float(found[2]):
        raise ValueError(f"expected two shares such as 0.60-0.95, the lower first, got {text[:40]!r}")
    return ThresholdBounds(low=float(found[1]), high=float(found[2]))


def checked_adaptive(values: dict[str, str]) -> dict[str, str]:
    """The setting, if every name and bound can be used.

    Raises:
        ValueError: the first that cannot.
    """
    for name, text in values.items():
        if name != CONFIDENCE and not (name.startswith(CATEGORY) and name.removeprefix(CATEGORY).strip()):
            raise ValueError(f"expected {CONFIDENCE} or {CATEGORY}NAME, got {name[:40]!r}")
        parse_bounds(text)
    return values


def next_threshold(current: float | None, proposed: float, bounds: ThresholdBounds) -> float:
    """At most one step from the threshold in force towards the proposed one, within the bounds.

    Without a threshold in force the first step is the upper bound: the strictest for replies.
    """
    if current is None:
        return bounds.high
    wanted = min(max(proposed, bounds.low), bounds.high)
    moved = min(max(wanted, current - STEP), current + STEP)
    return round(moved, 3)
