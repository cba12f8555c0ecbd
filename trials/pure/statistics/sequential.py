"""The difference of two arms with an interval that is valid at every look.

An asymptotic confidence sequence with a normal mixture: I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy
and A. Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics
52 (2024) 2613-2640 (arXiv:2103.06476): theorem 2.2 for the interval, section 3 for two randomised arms.
With ``t`` units in both arms, ``s`` the standard error of the difference and ``rho`` a constant:

    difference +/- s * sqrt((t rho² + 1) / (t rho²) * log((t rho² + 1) / alpha²))

All intervals of a comparison together cover the true difference with probability 1 - alpha, so it may be
looked at every day and ended at any look. The interval is asymptotic: nothing is decided before each arm has
``LEAST_UNITS`` units. ``python -m bench.sequential`` counts its false alarms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

ALPHA: Final = 0.05
"""The chance of any false alarm over all looks."""
LEAST_UNITS: Final = 100
"""Units of each arm before anything is decided."""
PLANNED_UNITS: Final = 2000
"""Units of both arms at which the interval is narrowest, if none are planned."""


class ComparisonVerdict(StrEnum):
    """What a comparison shows: the candidate's figure against the control's."""

    TOO_FEW = "too_few"
    UNDECIDED = "undecided"
    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What one arm measured.

    Attributes:
        units: what was assigned at random and independently, such as conversations.
        mean: the figure: a share or a mean.
        variance: variance of one unit; the figure's is ``variance / units``.
    """

    units: int
    mean: float
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSums:
    """Sums over the units of an arm, each with several observations: decisions of one conversation.

    Attributes:
        units: number of units.
        hits: sum of y, a unit's hits or its sum of a measure.
        size: sum of n, a unit's observations or the sum of their weights.
        hits_squared: sum of y².
        crossed: sum of y n.
        size_squared: sum of n².
    """

    units: int
    hits: float
    size: float
    hits_squared: float
    crossed: float
    size_squared: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The candidate's figure less the control's, valid at every look.

    Attributes:
        low: lower bound of the interval of 1 - alpha; ``-inf`` while an arm has no units.
        high: its upper bound.
        units: units of both arms.
        missing: units that an arm still needs before anything is decided.
    """

    difference: float
    low: float
    high: float
    units: int
    missing: int
    verdict: ComparisonVerdict

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.verdict in (ComparisonVerdict.LOWER, ComparisonVerdict.HIGHER)


def share_of_clusters(sums: ClusterSums) -> Arm:
    """The share of hits among observations that come in units, by the linearised variance of a ratio.

    One unit of only hits and one of only misses count for the variance, as A. Agresti and B. Caffo, The
    American Statistician 54 (2000) 280-288: an arm without any hit is not measured exactly.
    """
    plain = mean_of_clusters(sums)
    if not plain.units:
        return plain
    typical = sums.size / sums.units
    square = typical * typical
    widened = ClusterSums(
        units=sums.units + 2,
        hits=sums.hits + typical,
        size=sums.size + 2 * typical,
        hits_squared=sums.hits_squared + square,
        crossed=sums.crossed + square,
        size_squared=sums.size_squared + 2 * square,
    )
    return replace(plain, variance=_linearised(widened))


def mean_of_clusters(sums: ClusterSums) -> Arm:
    """The mean of a measure over observations that come in units, such as the cost of a decision."""
    if sums.units == 0 or sums.size <= 0:
        return Arm(units=0, mean=0.0, variance=0.0)
    return Arm(units=sums.units, mean=sums.hits / sums.size, variance=_linearised(sums))


def compare(control: Arm, candidate: Arm, *, planned_units: int = PLANNED_UNITS) -> Comparison:
    """The difference with its always-valid interval.

    Args:
        control: the arm compared with.
        candidate: the arm that is tried.
        planned_units: of both arms, chosen before the first look; the interval is narrowest there.
    """
    units = control.units + candidate.units
    missing = max(0, LEAST_UNITS - min(control.units, candidate.units))
    difference = candidate.mean - control.mean
    if not control.units or not candidate.units:
        return Comparison(
            difference=difference, low=-math.inf, high=math.inf, units=units, missing=missing,
            verdict=ComparisonVerdict.TOO_FEW,
        )  # fmt: skip
    error = math.sqrt(control.variance / control.units + candidate.variance / candidate.units)
    half = error * _factor(units, planned_units)
    low, high = difference - half, difference + half
    return Comparison(
        difference=difference, low=low, high=high, units=units, missing=missing,
        verdict=ComparisonVerdict.TOO_FEW if missing else _verdict(low, high),
    )  # fmt: skip


def _verdict(low: float, high: float) -> ComparisonVerdict:
    if low > 0:
        return ComparisonVerdict.HIGHER
    return ComparisonVerdict.LOWER if high < 0 else ComparisonVerdict.UNDECIDED


def _factor(units: int, planned_units: int) -> float:
    """Half the interval in standard errors; ``rho`` as the paper's section 2.5 chooses it."""
    spent = -2 * math.log(ALPHA)
    rho_squared = (spent + math.log(spent + 1)) / planned_units
    grown = units * rho_squared
    return math.sqrt((grown + 1) / grown * math.log((grown + 1) / (ALPHA * ALPHA)))


def _linearised(sums: ClusterSums) -> float:
    """The variance of one unit: that of y - ratio n, by the square of the mean of n."""
    ratio, typical = sums.hits / sums.size, sums.size / sums.units
    spread = sums.hits_squared - 2 * ratio * sums.crossed + ratio * ratio * sums.size_squared
    return max(0.0, spread) / sums.units / (typical * typical)
