"""Kappa: agreement of two readings beyond chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker.statistics.shares import Z

ENOUGH_PAIRS: Final = 30
"""Second readings below which kappa is only a hint: its interval is then about as wide as 0.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Agreement of two readings beyond chance.

    Attributes:
        readings: pairs of readings.
        observed: 0..1, share of pairs with the same ruling.
        expected: 0..1, the share expected by chance.
        value: -1..1; None where it is not defined, because both readings always gave the same ruling.
        low: lower bound of the 95 % interval; None where nothing differed, so that no interval follows.
        high: upper bound of the interval.
    """

    readings: int
    observed: float
    expected: float
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def enough(self) -> bool:
        """Whether there are enough readings for a reliable figure."""
        return self.readings >= ENOUGH_PAIRS


def kappa(pairs: Mapping[tuple[str, str], int]) -> Kappa | None:
    """Cohen's kappa of counted pairs (first ruling, second ruling); None without pairs.

    J. Cohen, Educational and Psychological Measurement 20 (1960) 37-46, with the standard error given there.
    """
    total = sum(pairs.values())
    if total == 0:
        return None
    observed = sum(count for (first, second), count in pairs.items() if first == second) / total
    rulings = {ruling for pair in pairs for ruling in pair}
    expected = sum(_share(pairs, 0, each, total) * _share(pairs, 1, each, total) for each in rulings)
    if math.isclose(expected, 1):
        return Kappa(readings=total, observed=observed, expected=1.0)
    value = (observed - expected) / (1 - expected)
    if observed == 1:
        return Kappa(readings=total, observed=1.0, expected=expected, value=value)
    half = Z * math.sqrt(observed * (1 - observed) / total) / (1 - expected)
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Kappa(readings=total, observed=observed, expected=expected, value=value, low=low, high=high)


def _share(pairs: Mapping[tuple[str, str], int], place: int, ruling: str, total: int) -> float:
    return sum(count for pair, count in pairs.items() if pair[place] == ruling) / total
