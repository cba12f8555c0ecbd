"""Measures of agreement: shares with their intervals, and kappa."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Z: Final = 1.959963984540054
"""The normal distribution's 97.5 % point: intervals are of 95 %."""
ENOUGH_PAIRS: Final = 30
"""Second readings below which kappa is only a hint: its interval is then about as wide as 0.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A proportion of counted things with its 95 % interval, all 0..1.

    Attributes:
        share: ``hits`` of ``total``; where they are weighted, of their weights.
    """

    hits: int
    total: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Agreement of two readings beyond chance.

    Attributes:
        readings: pairs of readings.
        observed: 0..1, share of pairs with the same ruling.
        expected: 0..1, the share expected by chance.
        value: -1..1; None where it is not defined, because both readings always gave the same ruling.
        low: lower bound of the 95 % interval; None where nothing differed, so that no interval follows.
        high: its upper bound.
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


def wilson(hits: int, total: int) -> Share | None:
    """The score interval; None where nothing was counted.

    E. B. Wilson, Journal of the American Statistical Association 22 (1927) 209-212; recommended and worked
    out by R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, method 3.
    """
    return None if total == 0 else _scored(hits, total, hits / total, total)


def weighted(hits: int, total: int, *, weight_of_hits: float, weight: float, squares: float) -> Share | None:
    """The score interval of a weighted sample; None where nothing was counted.

    The share is Hajek's ratio: of the weights, each the inverse of the chance of being drawn. The interval is
    Wilson's for as many things as Kish's effective size (Survey Sampling, 1965): the square of the sum of the
    weights by the sum of their squares, which is ``total`` where all are alike. It supposes that rulings are
    as divided among heavy things as among light ones.

    Args:
        hits: unweighted count of hits.
        total: unweighted count.
        weight_of_hits: sum of the weights of the hits.
        weight: sum of all weights.
        squares: sum of the squares of all weights.
    """
    if total == 0:
        return None
    return _scored(hits, total, min(1.0, weight_of_hits / weight), weight * weight / squares)


def _scored(hits: int, total: int, share: float, size: float) -> Share:
    middle = share + Z * Z / (2 * size)
    half = Z * math.sqrt(share * (1 - share) / size + Z * Z / (4 * size * size))
    scale = 1 + Z * Z / size
    low, high = (middle - half) / scale, (middle + half) / scale
    return Share(hits=hits, total=total, share=share, low=max(0.0, low), high=min(1.0, high))


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
