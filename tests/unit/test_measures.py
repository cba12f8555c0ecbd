"""Intervals and kappa against worked examples that others published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.figures.measures import kappa, wilson


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(hits: int, total: int, low: float, high: float) -> None:
    """Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3: score, no correction."""
    found = wilson(hits, total)

    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(total=st.integers(1, 10_000), data=st.data())
def test_an_interval_holds_its_share_and_stays_within_nought_and_one(total: int, data: st.DataObject) -> None:
    """At the edges too."""
    found = wilson(data.draw(st.integers(0, total)), total)

    assert found is not None
    assert 0 <= found.low <= found.share + 1e-12
    assert found.share - 1e-12 <= found.high <= 1


def test_kappa_of_two_categories() -> None:
    """The grant proposals of the encyclopaedia's article "Cohen's kappa": 20, 5, 10, 15 give 0.4."""
    found = kappa(
        {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15},
    )

    assert found is not None
    assert (found.observed, found.expected, found.value) == pytest.approx((0.7, 0.5, 0.4))
    assert found.enough


def test_kappa_of_three_categories() -> None:
    """Fleiss, Levin, Paik, Statistical Methods for Rates and Proportions (2003), table 18.1: 0.68."""
    rows = {
        "psychosis": (75, 1, 4),
        "neurosis": (5, 4, 1),
        "organic": (0, 0, 10),
    }
    found = kappa(
        {(first, second): n for first, row in rows.items() for second, n in zip(rows, row, strict=True)}
    )

    assert found is not None
    assert found.value is not None
    assert round(found.value, 2) == 0.68


def test_kappa_without_a_difference_is_not_defined() -> None:
    """Two readers who always say the same one thing agree, but not beyond chance."""
    found = kappa({("agree", "agree"): 9})

    assert found is not None
    assert (found.value, found.observed, found.enough) == (None, 1.0, False)
    assert kappa({}) is None
    assert wilson(0, 0) is None
