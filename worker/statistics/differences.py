"""Differences of two samples with their 95 % intervals, and medians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.statistics.binomial import at_most
from worker.statistics.shares import Share, Z

LEAST_FOR_MEDIAN: Final = 6
"""With fewer values no two of them enclose the median in 95 of 100 samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Number, mean and variance (of a sample, divided by ``number - 1``) of values."""

    number: int
    mean: float
    variance: float


def moments(values: Sequence[float]) -> Moments:
    """The moments of values; variance 0 for fewer than two."""
    number = len(values)
    mean = math.fsum(values) / number if number else 0.0
    squares = math.fsum((each - mean) ** 2 for each in values)
    return Moments(number=number, mean=mean, variance=squares / (number - 1) if number > 1 else 0.0)


def share_difference(before: Share, after: Share) -> Estimate:
    """``after`` less ``before``, with an interval made from the score intervals of both shares.

    R. G. Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10.
    """
    value = after.share - before.share
    down = math.hypot(after.share - after.low, before.high - before.share)
    up = math.hypot(after.high - after.share, before.share - before.low)
    return Estimate(value=value, low=max(-1.0, value - down), high=min(1.0, value + up))


def mean_difference(before: Moments, after: Moments) -> Estimate:
    """``after`` less ``before``, with the normal interval for unequal variances; for large samples."""
    value = after.mean - before.mean
    half = Z * math.sqrt(before.variance / before.number + after.variance / after.number)
    return Estimate(value=value, low=value - half, high=value + half)


def median(values: Sequence[float]) -> Estimate | None:
    """The median, with the two values that enclose it in at least 95 of 100 samples; None of too few.

    The interval of order statistics: its ranks are those of a binomial of one half, for any distribution.
    """
    number, ordered = len(values), sorted(values)
    if number < LEAST_FOR_MEDIAN:
        return None
    rank = 0
    while at_most(rank + 1, number, 0.5) <= (1 - 0.95) / 2:
        rank += 1
    middle = (ordered[(number - 1) // 2] + ordered[number // 2]) / 2
    return Estimate(value=middle, low=ordered[rank], high=ordered[number - 1 - rank])
