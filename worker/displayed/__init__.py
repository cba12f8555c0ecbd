"""What people see of a text, and what is hidden in it.

::

    carried_texts      what hidden characters carry
    revealed(text)     hidden text decoded, overridden direction in the order of display; None: nothing to do
    displayed(text)    that, without the signs of Markdown and HTML; for rules
    unbroken(text)     words that a line break divides, whole; for rules
    without_flags      the text with each flag of two regional letters as two blanks; for rules

Ordinary emoji, flags, keycaps and families stay as they are.
"""

from __future__ import annotations

from typing import Final

from worker.displayed.carriers import SUSPECT, carried_texts, carrier_edits
from worker.displayed.direction import direction_edits
from worker.displayed.edits import ShownText, edited
from worker.displayed.flags import without_flags
from worker.displayed.markup import break_edits, markup_edits

NESTED: Final = 2
"""How often signs are removed: the label of a link has signs of its own."""


def revealed(text: str) -> ShownText | None:
    """The text with hidden text decoded and overridden letters in the order of display; None: no change."""
    if text.isascii() or SUSPECT.search(text) is None:
        return None
    return edited(edited(None, text, carrier_edits), text, direction_edits)


def revealed_text(text: str) -> str:
    """The text of ``revealed``."""
    shown = revealed(text)
    return text if shown is None else shown.text


def displayed(text: str) -> ShownText | None:
    """The text of ``revealed`` without signs of Markdown and HTML; None: no change."""
    shown = revealed(text)
    for _ in range(NESTED):
        shown = edited(shown, text, markup_edits)
    return shown


def unbroken(text: str) -> ShownText | None:
    """The text with the words joined that a line break divides; None: no change."""
    return edited(None, text, break_edits)


def overridden_texts(text: str) -> tuple[str, ...]:
    """The parts of a text whose direction is overridden, as people read them."""
    return tuple(edit.text for edit in direction_edits(text))
