"""Where a quote stands in the passages, whatever its spaces, case and punctuation."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from worker.assessment.text.once import once
from worker.model import Quote

LEAST_LETTERS: Final = 8
"""Letters and digits of a spaced script below which a quote could stand anywhere ("yes", "9 am")."""
LEAST_SIGNS: Final = 4
"""The same for a script that writes a word in one or two signs."""


def located(quote: str, passages: Sequence[tuple[str, str]]) -> Quote | None:
    """The first place of a quote in passages given as (title, text); None where it stands in none.

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


def quoted_text(quote: Quote, passages: Sequence[tuple[str, str]]) -> str:
    """The words of a quote, as the passage has them."""
    title, text = passages[quote.passage - 1]
    return title if quote.start is None else text[quote.start : quote.end]


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
