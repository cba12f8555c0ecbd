"""Numbers in the reader's language."""

from __future__ import annotations

from functools import cache
from typing import Final

from babel.numbers import get_decimal_symbol, get_group_symbol

from review.languages.reader import reader

THIN_SPACE: Final = "\N{NARROW NO-BREAK SPACE}"
"""Between thousands in English, where a comma would be read as a decimal sign in many countries."""


def plural_number(number: float) -> int:
    """An integer for ``ngettext`` that has the plural form of a number with a fraction."""
    return 1 if number == 1 else 2


def localized(formatted: str) -> str:
    """A number as Python formats it, such as ``1,234.5``, with the signs of the reader's language."""
    return formatted.translate(_signs(reader.get().locale))


@cache
def _signs(locale: str) -> dict[int, str]:
    if locale == "en_GB":
        return {ord(","): THIN_SPACE}
    return {ord(","): get_group_symbol(locale), ord("."): get_decimal_symbol(locale)}


def group_mark() -> str:
    """The sign between thousands in the reader's language."""
    return _signs(reader.get().locale)[ord(",")]
