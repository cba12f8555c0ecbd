"""Numbers as people type them, with a decimal point or a decimal comma."""

from __future__ import annotations

import re
from typing import Final

NUMBER: Final = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d{1,3})?", re.IGNORECASE | re.ASCII)
GROUPED: Final = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
"""A thousand in some languages, one in others."""


def typed_number(text: str) -> float:
    """The number of a text.

    Raises:
        ValueError: it is no number, or its comma may separate thousands.
    """
    typed = text.strip()
    if NUMBER.fullmatch(typed) is None or GROUPED.fullmatch(typed):
        raise ValueError(f"expected a number without separators of thousands, got {typed[:40]!r}")
    return float(typed.replace(",", "."))
