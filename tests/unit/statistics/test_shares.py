"""Intervals, differences, medians, shares and binomial tails against reference implementations."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats
from scipy.special import betainc
from scipy.stats import binom
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from worker.statistics.binomial import at_most, incomplete_beta
from worker.statistics.differences import mean_difference, median, moments, share_difference
from worker.statistics.shares import (
    Observation,
    SampleRejected,
    effective_size,
    weighted,
    weighted_share,
    wilson,
)


@pytest.mark.parametrize(("hits", "total"), [(0, 7), (1, 30), (15, 30), (30, 30), (123, 4567)])
def test_a_counted_share_is_wilsons(hits: int, total: int) -> None:
    """As statsmodels computes it."""
    found = wilson(hits, total)

    assert found is not None
    assert (found.low, found.high) == pytest.approx(proportion_confint(hits, total, method="wilson"))


def test_a_weighted_share_is_wilsons_of_the_effective_size() -> None:
    """The share of the weights, with the interval that statsmodels gives for Kish's effective size."""
    draws = random.Random(3)
    held = [Observation(hit=draws.random() < 0.3, weight=draws.choice((1, 4, 25))) for _ in range(200)]
    share = sum(each.weight for each in held if each.hit) / sum(each.weight for each in held)
    size = sum(each.weight for each in held) ** 2 / sum(each.weight**2 for each in held)
    found = weighted_share(held)

    assert found is not None
    assert found.share == pytest.approx(share)
    assert effective_size(held) == pytest.approx(size)
    assert (found.low, found.high) == pytest.approx(proportion_confint(share * size, size, method="wilson"))


def test_weighted_intervals_of_stratified_samples_hold_the_true_share() -> None:
    """Fifty of a large group and fifty of a small one: about 95 of 100 intervals hold the share of both."""
    draws, sizes, wrong, held = random.Random(5), (10_000, 500), (0.05, 0.2), 0
    true = sum(size * share for size, share in zip(sizes, wrong, strict=True)) / sum(sizes)
    for _ in range(400):
        sample = [
            Observation(hit=draws.random() < share, weight=size / 50)
            for size, share in zip(sizes, wrong, strict=True)
            for _ in range(50)
        ]
        found = weighted_share(sample)
        held += found is not None and found.low <= true <= found.high

    assert held / 400 >= 0.92


def test_nothing_has_no_share() -> None:
    """Neither counted nor weighted."""
    assert weighted_share(()) is None
    assert wilson(0, 0) is None
    assert effective_size(()) == 0


@pytest.mark.parametrize("weights", [(0.0, 0.0), (1.0, -1.0), (1.0, math.inf), (math.nan,)])
def test_weights_that_say_nothing_are_refused(weights: tuple[float, ...]) -> None:
    """Zero altogether, negative or not finite."""
    with pytest.raises(SampleRejected, match="weight"):
        weighted_share([Observation(hit=True, weight=each) for each in weights])


def test_a_sum_of_weights_of_zero_is_refused() -> None:
    """As it comes from the database."""
    with pytest.raises(SampleRejected, match="expected a sum above 0, got 0"):
        weighted(1, 3, weight_of_hits=0, weight=0, squares=0)


@pytest.mark.parametrize("a", [0.3, 1.0, 7.5, 300.0])
@pytest.mark.parametrize("b", [0.7, 2.0, 90.0])
def test_the_incomplete_beta_function_is_scipys(a: float, b: float) -> None:
    """For every size and share."""
    for x in (0.0, 1e-6, 0.1, 0.5, 0.77, 0.999, 1.0):
        assert incomplete_beta(a, b, x) == pytest.approx(float(betainc(a, b, x)), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("wrong", "size"), [(0, 1), (0, 60), (3, 50), (50, 50), (400, 1000)])
def test_the_binomial_tail_is_scipys(wrong: int, size: int) -> None:
    """The chance of at most so many errors."""
    for share in (0.01, 0.1, 0.45, 0.9):
        assert at_most(wrong, size, share) == pytest.approx(
            float(binom.cdf(wrong, size, share)), rel=1e-8, abs=1e-14
        )


@pytest.mark.parametrize(
    ("before", "after"), [((10, 100), (30, 90)), ((0, 60), (60, 60)), ((5, 7), (1, 400))]
)
def test_a_difference_of_shares_has_newcombes_interval(
    before: tuple[int, int], after: tuple[int, int]
) -> None:
    """As statsmodels computes it."""
    old, new = wilson(*before), wilson(*after)
    assert old is not None
    assert new is not None
    found = share_difference(old, new)
    expected = confint_proportions_2indep(*after, *before, method="newcomb", compare="diff")

    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    assert found.value == pytest.approx(new.share - old.share)


def test_a_difference_of_means_has_the_normal_interval() -> None:
    """For large samples it is Welch's."""
    generator = random.Random(1)
    old = [generator.gauss(100, 20) for _ in range(4000)]
    new = [generator.gauss(110, 40) for _ in range(3000)]
    found = mean_difference(moments(old), moments(new))
    expected = stats.ttest_ind(new, old, equal_var=False).confidence_interval()

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)


@pytest.mark.parametrize("number", [6, 9, 30, 101])
def test_a_median_has_the_interval_of_order_statistics(number: int) -> None:
    """As SciPy's test of quantiles gives it; fewer than six values have none."""
    values = [float(each * each) for each in range(number)]
    found = median(values)
    expected = stats.quantile_test(values, p=0.5).confidence_interval()

    assert found is not None
    assert (found.low, found.high) == (expected.low, expected.high)
    assert median(values[:5]) is None
