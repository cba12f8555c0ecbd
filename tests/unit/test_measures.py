"""Intervals and kappa against their definitions, in exact arithmetic; no value here is taken from a table."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.agreement.kappa import kappa
from worker.statistics.shares import Z, weighted, wilson

NEAR = Fraction(1, 10**9)
VERDICTS = ("agree", "overturn", "unsure")


def scored(bound: Fraction, hits: int, total: int) -> Fraction:
    """Wilson's test of a true share less its critical value: negative inside the interval, nought at its end.

    It holds the square of the observed share's distance from the true one, ``(hits / total - p) ** 2``,
    against that of the true one's standard error, ``z ** 2 * p * (1 - p) / total``.
    """
    return (Fraction(hits, total) - bound) ** 2 - Fraction(Z) ** 2 * bound * (1 - bound) / total


def test_the_interval_is_of_95_percent() -> None:
    """As the normal distribution has it."""
    assert pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-12) == Z


@given(total=st.integers(1, 10_000), data=st.data())
def test_an_interval_ends_where_the_score_test_turns(total: int, data: st.DataObject) -> None:
    """It holds every share that the test does not reject, and no other; at the edges too."""
    hits = data.draw(st.integers(0, total))
    found = wilson(hits, total)

    assert found is not None
    low, high = Fraction(found.low), Fraction(found.high)
    assert 0 <= low <= Fraction(hits, total) + NEAR
    assert Fraction(hits, total) - NEAR <= high <= 1
    for outside, inside in ((low - NEAR, low + NEAR), (high + NEAR, high - NEAR)):
        assert scored(inside, hits, total) < 0
        assert not 0 < outside < 1 or scored(outside, hits, total) > 0


@given(total=st.integers(1, 1000), weight=st.floats(1, 10_000), data=st.data())
def test_things_that_weigh_alike_are_counted(total: int, weight: float, data: st.DataObject) -> None:
    """Whatever they weigh."""
    hits = data.draw(st.integers(0, total))
    sums = {"weight_of_hits": hits * weight, "weight": total * weight, "squares": total * weight * weight}
    found, plain = weighted(hits, total, **sums), wilson(hits, total)

    assert found is not None
    assert plain is not None
    assert (found.share, found.low, found.high) == pytest.approx(
        (plain.share, plain.low, plain.high), abs=1e-9
    )


def test_a_stratum_of_which_few_are_read_does_not_count_for_more_than_it_is() -> None:
    """All of ten read, ten right; ten of a thousand read, one right: 110 of 1010, as sure as ten are."""
    found = weighted(11, 20, weight_of_hits=10 + 100, weight=10 + 1000, squares=10 + 10 * 100**2)
    size = Fraction(1010**2, 10 + 10 * 100**2)
    alike = wilson(11, 20)

    assert found is not None
    assert alike is not None
    assert (found.hits, found.total) == (11, 20)
    assert found.share == pytest.approx(110 / 1010)
    assert 10 < size < 11
    for bound in (Fraction(found.low), Fraction(found.high)):
        distance = (Fraction(110, 1010) - bound) ** 2
        assert float(distance) == pytest.approx(float(Fraction(Z) ** 2 * bound * (1 - bound) / size))
    assert found.high < alike.share
    assert weighted(0, 0, weight_of_hits=0, weight=0, squares=0) is None


def exact(pairs: Mapping[tuple[str, str], int]) -> tuple[Fraction, Fraction]:
    """Observed and expected agreement: the diagonal, and the products of the margins."""
    total = sum(pairs.values())
    observed = sum(Fraction(pairs.get((each, each), 0), total) for each in VERDICTS)
    margins = [
        [sum(Fraction(n, total) for pair, n in pairs.items() if pair[side] == each) for each in VERDICTS]
        for side in (0, 1)
    ]
    return Fraction(observed), sum((a * b for a, b in zip(*margins, strict=True)), Fraction(0))


@given(
    pairs=st.dictionaries(
        st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)), st.integers(1, 500), min_size=1
    )
)
def test_kappa_is_what_cohen_defined(pairs: dict[tuple[str, str], int]) -> None:
    """``(observed - expected) / (1 - expected)``, with the standard error of his paper."""
    observed, expected = exact(pairs)
    found = kappa(pairs)

    assert found is not None
    assert found.readings == sum(pairs.values())
    if expected == 1:
        assert found.value is None
        return
    assert found.value is not None
    assert found.value == pytest.approx(float((observed - expected) / (1 - expected)), abs=1e-9)
    if found.high is not None and found.high < 1:
        variance = observed * (1 - observed) / (found.readings * (1 - expected) ** 2)
        assert ((found.high - found.value) / Z) ** 2 == pytest.approx(float(variance), rel=1e-6)
    assert (found.high is None) == (observed == 1)


def test_kappa_worked_by_hand() -> None:
    """20 + 15 of 50 alike; margins 25, 25 and 30, 20 give a half by chance: (0.7 - 0.5) / 0.5."""
    found = kappa(
        {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15},
    )

    assert found is not None
    assert (found.observed, found.expected, found.value) == pytest.approx((0.7, 0.5, 0.4))
    assert found.enough


def test_kappa_without_a_difference_is_not_defined() -> None:
    """Two readers who always say the same one thing agree, but not beyond chance."""
    found = kappa({("agree", "agree"): 9})

    assert found is not None
    assert (found.value, found.observed, found.enough) == (None, 1.0, False)
    assert kappa({}) is None
    assert wilson(0, 0) is None
