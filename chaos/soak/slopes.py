"""How fast a figure grows, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, linear_regression
from typing import Final

from worker.statistics.binomial import incomplete_beta

HOUR_S: Final = 3_600.0
BLOCK_S: Final = 300.0
"""Neighbouring samples are strongly correlated; means of five minutes are less so."""
CERTAINTY: Final = 0.95
MOST_CORRELATED: Final = 0.95
FEWEST_BLOCKS: Final = 6
FLAT_SHARE: Final = 0.01
"""A figure that grows by less than this share of its mean in an hour is called flat."""
SMALLEST: Final = 1.0
"""Growth of less than one connection, file or kilobyte an hour is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """Growth an hour of a figure, in its unit, by least squares over means of ``BLOCK_S``.

    Attributes:
        low, high: 95 % interval by Student's t, wider where the errors of neighbouring means are correlated.
        mean: of the figure.
        blocks: how many means.
    """

    per_hour: float
    low: float
    high: float
    mean: float
    blocks: int

    @property
    def grows(self) -> bool:
        """Whether the whole interval lies above what counts as flat."""
        return self.low > max(SMALLEST, FLAT_SHARE * abs(self.mean))


def slope(points: Sequence[tuple[float, float]]) -> Slope | None:
    """The slope of ``(seconds, figure)``; None for less than half an hour of samples."""
    means = _block_means(points)
    if len(means) < FEWEST_BLOCKS:
        return None
    hours, figures = [at / HOUR_S for at, _ in means], [figure for _, figure in means]
    found = linear_regression(hours, figures)
    middle = fmean(hours)
    errors = [y - found.intercept - found.slope * x for x, y in zip(hours, figures, strict=True)]
    spread = sum((x - middle) ** 2 for x in hours)
    freedom = len(means) - 2
    variance = sum(error**2 for error in errors) / freedom / spread
    margin = _student_quantile(freedom) * math.sqrt(variance * _variance_inflation(errors))
    return Slope(
        per_hour=found.slope,
        low=found.slope - margin,
        high=found.slope + margin,
        mean=fmean(figures),
        blocks=len(means),
    )


def _variance_inflation(errors: Sequence[float]) -> float:
    """By how much autocorrelation enlarges the variance of the slope: ``(1 + r) / (1 - r)``.

    Connections and sessions follow the load in waves of half an hour, so the errors of neighbouring means
    are correlated, and the means tell less than independent ones would. ``r`` is their correlation, of an
    autoregression of order one (Bayley and Hammersley 1946).
    """
    total = sum(error**2 for error in errors)
    if not total:
        return 1.0
    correlation = sum(one * next_one for one, next_one in pairwise(errors)) / total
    correlation = min(max(correlation, 0.0), MOST_CORRELATED)
    return (1 + correlation) / (1 - correlation)


def _block_means(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    blocks: dict[int, list[tuple[float, float]]] = {}
    for at, figure in points:
        blocks.setdefault(int(at // BLOCK_S), []).append((at, figure))
    return [(fmean(at for at, _ in held), fmean(y for _, y in held)) for _, held in sorted(blocks.items())]


def _student_quantile(freedom: int) -> float:
    """The value that ``|t|`` stays below with ``CERTAINTY``; DLMF 8.17 for the distribution."""
    low, high = 0.0, 1_000.0
    for _ in range(100):
        middle = (low + high) / 2
        beyond = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + middle * middle))
        low, high = (middle, high) if beyond > 1 - CERTAINTY else (low, middle)
    return high
