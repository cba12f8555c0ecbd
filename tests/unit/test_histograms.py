"""Percentiles from bins: how far off they may be."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.histograms import ERROR, TOP, middle_ms, percentile_ms, time_bin

TIMES = st.floats(min_value=1, max_value=2 ** (TOP / 8), allow_nan=False)


@given(times=st.lists(TIMES, min_size=1, max_size=200), share=st.sampled_from((0.01, 0.5, 0.95, 0.99, 1.0)))
def test_a_percentile_is_within_the_stated_error(times: list[float], share: float) -> None:
    """Of the nearest-rank percentile of the very values, between 1 ms and 12 days."""
    exact = sorted(times)[max(1, math.ceil(share * len(times))) - 1]
    found = percentile_ms(Counter(map(time_bin, times)), share)

    assert found is not None
    assert abs(found - exact) <= exact * (ERROR + 1e-9)


@given(one=st.lists(TIMES, max_size=50), other=st.lists(TIMES, max_size=50))
def test_histograms_add_up(one: list[float], other: list[float]) -> None:
    """Those of two hours together are that of both."""
    added = Counter(map(time_bin, one)) + Counter(map(time_bin, other))

    assert added == Counter(map(time_bin, one + other))


@pytest.mark.parametrize(
    ("ms", "number"), [(0, 0), (1, 0), (1.0001, 1), (2, 8), (2.0001, 9), (1024, 80), (1e15, TOP)]
)
def test_bins_end_where_they_say(ms: float, number: int) -> None:
    """The upper bound belongs to the bin; the first and the last one have no bound."""
    assert time_bin(ms) == number


def test_nothing_counted_has_no_percentile() -> None:
    """Rather than nought."""
    assert percentile_ms({}, 0.5) is None
    assert percentile_ms({0: 3}, 0.99) == middle_ms(0) == 1.0
