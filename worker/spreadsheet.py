"""CSV cells that no spreadsheet runs as a formula, and back."""

from __future__ import annotations

import re
from typing import Final

FORMULA: Final = re.compile("'*(?:[\t\r\n]|\\s*[=+\\-@|%\uff1d\uff0b\uff0d\uff20])")
"""The start of a formula or command as spreadsheets read it, full-width forms included.

White space before such a start does not hide it. Apostrophes before it count, so that ``original`` is exact.
"""


def harmless(text: str) -> str:
    """The text, with an apostrophe in front of a text that begins like a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def original(cell: str) -> str:
    """The text from which ``harmless`` made this cell."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
