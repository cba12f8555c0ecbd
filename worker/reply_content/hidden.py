"""Characters of a reply that people do not see: harmless ones are removed, the others hold the reply."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from worker.displayed import carried_texts
from worker.displayed.carriers import INVISIBLE, joins

CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
OVERRIDES: Final = re.compile("[\u202d\u202e]")
EMBEDDINGS: Final = re.compile("[\u202a-\u202c\u2066-\u2069]")
"""Copied phone numbers have them; they change the order of a text without right-to-left letters only."""
RUN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{8,}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
SOFT_HYPHEN: Final = "\u00ad"
MOST_SINGLE: Final = 8
"""Single zero-width characters that models copy from web pages; more may carry data."""


def without_invisible(text: str) -> tuple[str, int]:
    """The text without single invisible characters of no use to its script, and how many these were.

    A text that ``hidden_content`` holds is unchanged.
    """
    if text.isascii() or hidden_content(text) is not None:
        return text, 0
    keeps_direction = any(unicodedata.bidirectional(char) in {"R", "AL"} for char in text)
    kept = [
        char for at, char in enumerate(text) if not _is_removed(text, at, keeps_direction=keeps_direction)
    ]
    return "".join(kept), len(text) - len(kept)


def _is_removed(text: str, at: int, *, keeps_direction: bool) -> bool:
    char = text[at]
    if char.isascii() or unicodedata.category(char) != "Cf":
        return False
    if EMBEDDINGS.match(char):
        return not keeps_direction
    return INVISIBLE.match(char) is not None and not joins(text, at)


def hidden_content(text: str) -> str | None:
    """What is hidden in a text, for the evidence; None for single characters only."""
    if CONTROLS.search(text):
        return "control characters"
    if text.isascii():
        return None
    if OVERRIDES.search(text):
        return "characters that override the direction of writing"
    if carried_texts(text) or RUN.search(text):
        return "invisible characters that carry a text"
    places = (found.start() for found in INVISIBLE.finditer(text) if found[0] != SOFT_HYPHEN)
    single = sum(not joins(text, at) for at in places)
    return f"{single} invisible characters" if single > MOST_SINGLE else None
