"""Numbers as people type them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from review.languages.reader import NO_READER, answer_in
from review.typed.numbers import share_text, typed_number, typed_share


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
        ("12.345", 12.345),
        ("1.5e3", 1500.0),
    ],
)
def test_a_point_or_a_comma_begins_the_decimals(text: str, number: float) -> None:
    """Both forms are one number."""
    assert typed_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("86,400", 86_400.0),
        ("-1,000", -1000.0),
        ("1,000,000", 1_000_000.0),
        ("1,000.5", 1000.5),
        ("1.000,5", 1000.5),
        ("1.000.000", 1_000_000.0),
        ("1 000", 1000.0),
        ("1\u202f000,25", 1000.25),
        ("1'000", 1000.0),
    ],
)
def test_a_separator_of_thousands_is_read_as_one(text: str, number: float) -> None:
    """A hold of a day does not become a minute and a half."""
    assert typed_number(text) == number


def test_a_point_separates_thousands_where_the_language_does() -> None:
    """The pages show such a reader 86400 as 86.400."""
    answer_in(replace(NO_READER, language="vi"))
    found = typed_number("86.400"), typed_number("0.750")
    answer_in(NO_READER)

    assert found == (86_400.0, 0.75)


@pytest.mark.parametrize("language", ["en", "vi"])
@pytest.mark.parametrize("text", ["12.345", "12,345", " 12.345 % "])
def test_a_percentage_has_no_thousands(language: str, text: str) -> None:
    """The text that a form shows of a share is read as the same share in every language."""
    answer_in(replace(NO_READER, language=language))
    found = typed_share(text)
    answer_in(NO_READER)

    assert (found, share_text(found)) == (0.12345, "12.345")


@pytest.mark.parametrize("text", ["1_000", "1,00,000", "1,000,00", "nan", "inf", "", "1,2,3", "٣"])
def test_what_is_no_number_is_refused(text: str) -> None:
    """The message says what was expected."""
    with pytest.raises(ValueError, match="expected a number"):
        typed_number(text)
