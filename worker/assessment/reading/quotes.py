"""Where a quote stands in the passages, whatever its spaces, case and punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from worker.assessment.text.once import once
from worker.model import Quote

_CLAUSE_END: Final = re.compile(r"[,;:()\n–—。，；：！？、]|[.!?](?=\s|$)")
_PARAGRAPH_END: Final = "\n\n"
LEAST_LETTERS: Final = 8
"""Letters and digits of a spaced script below which a quote could stand anywhere ("yes", "9 am")."""
LEAST_SIGNS: Final = 4
"""Least length in a script that writes a word in one or two signs."""


def located(quote: str, passages: Sequence[tuple[str, str]]) -> Quote | None:
    """The first place of a quote in passages given as (title, text); None for a quote that no passage has.

    A quote with an ellipsis is the longest of its pieces.
    """
    wanted = max((folded_signs(piece)[0] for piece in quote.replace("...", "…").split("…")), key=len)
    if len(wanted) < (LEAST_LETTERS if wanted.isascii() else LEAST_SIGNS):
        return None
    for number, (title, text) in enumerate(passages, start=1):
        folded, places = folded_signs(text)
        if (at := folded.find(wanted)) >= 0:
            start, end = places[at], places[at + len(wanted) - 1] + 1
            return Quote(passage=number, start=start, end=end)
        if wanted in folded_signs(title)[0]:
            return Quote(passage=number, start=None, end=None)
    return None


def whole_clauses(quote: Quote, passages: Sequence[tuple[str, str]]) -> str:
    """The quote with the clauses that it begins and ends in: a judge may not cut off a "not"."""
    title, text = passages[quote.passage - 1]
    if quote.start is None or quote.end is None:
        return title
    before = [found.end() for found in _CLAUSE_END.finditer(text, 0, quote.start)]
    after = _CLAUSE_END.search(text, quote.end - 1)
    return text[before[-1] if before else 0 : after.end() if after else len(text)].strip()


def whole_paragraph(quote: Quote, passages: Sequence[tuple[str, str]]) -> str:
    """The paragraph, list or table around the quote, which may give a number that the quote lacks."""
    title, text = passages[quote.passage - 1]
    if quote.start is None or quote.end is None:
        return title
    before, after = text.rfind(_PARAGRAPH_END, 0, quote.start), text.find(_PARAGRAPH_END, quote.end)
    return text[max(0, before) : after if after >= 0 else len(text)].strip()


@once
def folded_signs(text: str) -> tuple[str, tuple[int, ...]]:
    """Letters and digits of a text in one form, and the place of each in the text."""
    signs: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        for folded in unicodedata.normalize("NFKC", sign).casefold():
            if folded.isalnum():
                signs.append(folded)
                places.append(place)
    return "".join(signs), tuple(places)
