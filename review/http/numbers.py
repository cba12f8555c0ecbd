"""Whole numbers in forms and URLs, and the page of a list that a number names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

Row = TypeVar("Row")
MOST_DIGITS: Final = 9
"""A Postgres integer holds every number of nine digits."""


def whole_number(text: str, *, digits: int = MOST_DIGITS) -> int | None:
    """The number that a text of ASCII digits is; None for any other text, and for more ``digits``."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def page_of(rows: Sequence[Row], number: str, size: int) -> tuple[int, int, Sequence[Row]]:
    """The page with this number or the nearest one, the last page's number, and the page's rows."""
    last = max(1, -(-len(rows) // size))
    page = min(last, max(1, whole_number(number) or 1))
    return page, last, rows[(page - 1) * size : page * size]
