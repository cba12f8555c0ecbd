"""Words for what a trace and a review hold are total."""

from __future__ import annotations

import pytest

from db.reviews.rulings import ReviewSource
from review.words.traces import review_source


@pytest.mark.parametrize("source", ReviewSource)
def test_every_source_of_a_review_has_words(source: ReviewSource) -> None:
    """A review of a new source is shown too."""
    assert len(review_source(source)) > 3
