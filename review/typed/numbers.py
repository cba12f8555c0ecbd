"""Numbers as people type them: a decimal point or comma, and separators of thousands."""

from __future__ import annotations

import re
from typing import Final

from review.languages.numbers import group_mark
from review.typed.problems import share_problem

NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE | re.ASCII)
GROUPED: Final = re.compile(r"[+-]?[1-9]\d{0,2}([,.' \xa0\u202f])\d{3}(\1\d{3})*(?!\d)", re.ASCII)
"""Thousands with their separator, such as ``86,400``; never after a lone zero, as in ``0,750``."""
DECIMAL: Final = re.compile(r"([.,]\d*)?(e[+-]?\d{1,3})?", re.IGNORECASE | re.ASCII)
"""What may follow whole thousands."""


def typed_number(text: str) -> float:
    """The number of a text.

    ``86,400`` is read as thousands. ``86.400`` is 86.4, except for readers whose language separates thousands
    by a point.

    Raises:
        ValueError: the text is no number.
    """
    return _decimal(_without_groups(text.strip()))


def share_text(share: object) -> str:
    """A share, 0..1, in percent; empty for None."""
    return f"{share * 100:.10g}" if isinstance(share, int | float) else ""


def typed_share(text: str) -> float:
    """A percentage as a share, 0..1; it has no thousands, so ``12.345`` and ``12,345`` are the same.

    Raises:
        ValueError: the text is no percentage from 0 to 100; the message is for people.
    """
    try:
        share = round(_decimal(text.strip().removesuffix("%").strip()) / 100, 6)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(share_problem(text))
    return share


def _decimal(typed: str) -> float:
    plain = typed.replace(",", ".")
    if NUMBER.fullmatch(plain) is None:
        raise ValueError(f"expected a number, got {typed[:40]!r}")
    return float(plain)


def _without_groups(typed: str) -> str:
    found = GROUPED.match(typed)
    if found is None:
        return typed
    separator, rest = found[1], typed[found.end() :]
    is_decimal = separator == "." != group_mark() and typed.count(".") == 1 and "," not in rest
    if is_decimal or DECIMAL.fullmatch(rest) is None or rest.startswith(separator):
        return typed
    return found[0].replace(separator, "") + rest
