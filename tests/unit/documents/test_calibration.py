"""Percentiles: the place of a similarity among those of unrelated texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.calibration import SHARES, background, percentile

QUANTILES = tuple(0.2 + 0.5 * share for share in SHARES)
UNIT = st.floats(0, 1)


@pytest.mark.parametrize(
    ("similarity", "expected"), [(0.0, 0.0), (0.2, 0.0), (0.45, 0.5), (0.7, 1.0), (0.9, 1.0), (0.695, 0.99)]
)
def test_a_percentile_is_the_share_of_the_background_below(similarity: float, expected: float) -> None:
    """Of a background spread evenly from 0.2 to 0.7."""
    assert percentile(similarity, QUANTILES) == pytest.approx(expected)


@given(st.lists(UNIT, min_size=len(SHARES), max_size=len(SHARES)).map(sorted), UNIT, UNIT)
def test_a_higher_similarity_never_has_a_lower_percentile(quantiles: list[float], a: float, b: float) -> None:
    """For any background, with ties, and always within 0 and 1."""
    low, high = sorted((a, b))

    assert 0 <= percentile(low, quantiles) <= percentile(high, quantiles) <= 1


def test_many_equal_background_similarities_are_not_below_themselves() -> None:
    """An embedder with similarity 0 for most pairs has percentile 0 at 0."""
    quantiles = tuple(0.0 if share < 0.9 else share for share in SHARES)

    assert percentile(0.0, quantiles) == 0.0


def test_the_background_has_questions_and_passages_without_repetition() -> None:
    """Forty-eight questions in eight languages, sixteen passages."""
    questions, passages = background()

    assert (len(set(questions)), len(set(passages))) == (48, 16)
