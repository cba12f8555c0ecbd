"""Differences and medians, compared with reference implementations."""

from __future__ import annotations

import random

import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from worker.statistics.differences import mean_difference, median, moments, share_difference
from worker.statistics.shares import wilson


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
