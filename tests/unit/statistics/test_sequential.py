"""Comparisons that may be looked at every day."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Final

import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from statsmodels.stats.proportion import confint_proportions_2indep

from bench.sequential import SCENARIOS, simulate
from trials.pure.statistics.sequential import (
    ALPHA,
    LEAST_UNITS,
    PLANNED_UNITS,
    Arm,
    ClusterSums,
    ComparisonVerdict,
    compare,
    mean_of_clusters,
    share_of_clusters,
)

BY_NAME: Final = {each.name: each for each in SCENARIOS}


def test_a_thousand_comparisons_of_like_arms_looked_at_daily_give_few_false_alarms() -> None:
    """At most 5 % over 60 looks, where an ordinary interval gives far more."""
    found = simulate(BY_NAME["A/A share 10 %"], runs=1000, seed=20)

    assert found.decided <= ALPHA
    assert found.decided_peeking > 4 * ALPHA


def test_a_real_difference_is_found() -> None:
    """10 % against 15 %, in nearly every run within 60 days."""
    found = simulate(BY_NAME["A/B share 10 % to 15 %"], runs=200, seed=21)

    assert found.decided > 0.95
    assert found.median_day is not None


@pytest.mark.parametrize("units", [200, 2000, 40_000])
def test_the_interval_is_where_the_mixture_reaches_its_bound(units: int) -> None:
    """The normal mixture of likelihood ratios is 1 / alpha at the interval's end, by its definition.

    For a sum S of t units of variance 1 and effects drawn from N(0, rho²) the mixture is
    exp(rho² S² / (2 (t rho² + 1))) / sqrt(t rho² + 1).
    """
    spent = -2 * math.log(ALPHA)
    rho_squared = (spent + math.log(spent + 1)) / PLANNED_UNITS
    grown = units * rho_squared + 1

    def above(distance: float) -> float:
        summed = distance * math.sqrt(units)
        return rho_squared * summed**2 / (2 * grown) - math.log(grown) / 2 + math.log(ALPHA)

    arm = Arm(units=units // 2, mean=0.0, variance=1.0)
    found = compare(arm, arm)
    error = math.sqrt(2 / (units // 2))

    assert found.high / error == pytest.approx(brentq(above, 0, 100))
    assert found.low == -found.high


def counted_arm(hits: int, total: int) -> Arm:
    """An arm whose conversations have one decision each."""
    return share_of_clusters(
        ClusterSums(units=total, hits=hits, size=total, hits_squared=hits, crossed=hits, size_squared=total)
    )


def test_it_is_wider_than_an_interval_of_one_look() -> None:
    """By about half where it is narrowest; the middle is the same."""
    control, candidate = counted_arm(100, 1000), counted_arm(160, 1000)
    low, high = confint_proportions_2indep(160, 1000, 100, 1000, method="wald", compare="diff")
    found = compare(control, candidate)

    assert found.difference == pytest.approx((low + high) / 2)
    assert 1.3 < (found.high - found.low) / (high - low) < 1.8
    assert found.verdict is ComparisonVerdict.HIGHER
    assert found.decided
    assert compare(candidate, control).verdict is ComparisonVerdict.LOWER


def test_the_interval_is_narrowest_near_the_planned_size() -> None:
    """In standard errors."""
    factors = []
    for planned in (20, 200, 2000, 20_000, 200_000):
        arm = Arm(units=1000, mean=0.0, variance=1.0)
        factors.append(compare(arm, arm, planned_units=planned).high)

    assert min(factors) == factors[2]
    assert all(one > two for one, two in pairwise(factors[:3]))
    assert factors[2] / math.sqrt(2 / 1000) > float(norm.ppf(0.975))


def test_few_units_decide_nothing() -> None:
    """However far they are apart; an empty arm has no bounds."""
    found = compare(counted_arm(0, LEAST_UNITS - 1), counted_arm(500, 500))
    empty = compare(counted_arm(0, 0), counted_arm(500, 500))

    assert (found.verdict, found.missing, found.decided) == (ComparisonVerdict.TOO_FEW, 1, False)
    assert (empty.low, empty.high, empty.verdict) == (-math.inf, math.inf, ComparisonVerdict.TOO_FEW)


def test_arms_without_any_hit_are_not_measured_exactly() -> None:
    """None of a hundred against two of a hundred shows no difference."""
    assert counted_arm(0, 100).variance > 0
    assert compare(counted_arm(0, 100), counted_arm(2, 100)).verdict is ComparisonVerdict.UNDECIDED


def test_decisions_of_one_conversation_count_as_one_unit() -> None:
    """Ten decisions of one fate a conversation say no more than one, and its variance is the jackknife's."""
    draws = random.Random(4)
    units = [(draws.randint(1, 9), draws.random() < 0.3) for _ in range(400)]
    sums = ClusterSums(
        units=len(units),
        hits=sum(size * hit for size, hit in units),
        size=sum(size for size, _ in units),
        hits_squared=sum(size * size * hit for size, hit in units),
        crossed=sum(size * size * hit for size, hit in units),
        size_squared=sum(size * size for size, _ in units),
    )
    left_out = [(sums.hits - size * hit) / (sums.size - size) for size, hit in units]
    middle = sum(left_out) / len(units)
    jackknife = sum((each - middle) ** 2 for each in left_out) * (len(units) - 1)

    assert mean_of_clusters(sums).mean == pytest.approx(sums.hits / sums.size)
    assert mean_of_clusters(sums).variance == pytest.approx(jackknife, rel=0.02)
    assert share_of_clusters(sums).variance == pytest.approx(jackknife, rel=0.05)


def test_units_of_one_decision_are_counted() -> None:
    """Clusters of one are the plain share, with the variance of a hit and a miss more."""
    found = counted_arm(7, 50)

    assert (found.units, found.mean) == (50, 7 / 50)
    assert found.variance == pytest.approx(8 / 52 * (1 - 8 / 52))
    nothing = ClusterSums(units=0, hits=0, size=0, hits_squared=0, crossed=0, size_squared=0)
    assert share_of_clusters(nothing).units == mean_of_clusters(nothing).units == 0
