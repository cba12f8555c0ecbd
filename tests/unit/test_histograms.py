"""Percentiles from bins: how far off they may be."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from db.figures.histograms import (
    ERROR,
    PER_DOUBLING,
    TOP,
    middle_ms,
    percentile_ms,
)


def bin_of(ms: float) -> int:
    """The bin that a time belongs to, as the module says; Postgres does the binning, see ``test_figures``."""
    return 0 if ms <= 1 else min(TOP, math.ceil(PER_DOUBLING * math.log2(ms)))


TIMES = st.floats(min_value=1, max_value=2 ** (TOP / 8), allow_nan=False)


@given(times=st.lists(TIMES, min_size=1, max_size=200), share=st.sampled_from((0.01, 0.5, 0.95, 0.99, 1.0)))
def test_a_percentile_is_within_the_stated_error(times: list[float], share: float) -> None:
    """Of the nearest-rank percentile of the very values, between 1 ms and 12 days."""
    exact = sorted(times)[max(1, math.ceil(share * len(times))) - 1]
    found = percentile_ms(Counter(map(bin_of, times)), share)

    assert found is not None
    assert abs(found - exact) <= exact * (ERROR + 1e-9)


def test_nothing_counted_has_no_percentile() -> None:
    """Rather than nought."""
    assert percentile_ms({}, 0.5) is None
    assert percentile_ms({0: 3}, 0.99) == middle_ms(0) == 1.0
