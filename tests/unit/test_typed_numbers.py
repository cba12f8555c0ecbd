"""Numbers as people type them."""

from __future__ import annotations

import pytest

from review.typed.numbers import typed_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0,7", 0.7),
        ("0,750", 0.75),
        (" 12.5 ", 12.5),
        ("86400", 86_400.0),
        ("-1", -1.0),
        (",5", 0.5),
        ("1e-3", 0.001),
    ],
)
def test_a_point_or_a_comma_begins_the_decimals(text: str, number: float) -> None:
    """Both forms are one number."""
    assert typed_number(text) == number


@pytest.mark.parametrize(
    "text", ["86,400", "1,000", "1,000,000", "1.000,5", "1_000", "1 000", "nan", "inf", "", "1,2,3", "٣"]
)
def test_a_separator_of_thousands_is_refused(text: str) -> None:
    """A hold of a day must not become a minute and a half."""
    with pytest.raises(ValueError, match="expected a number"):
        typed_number(text)
