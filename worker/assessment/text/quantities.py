"""Numbers and units of measure in one spelling, so that two texts can be compared."""

from __future__ import annotations

import re

from worker.assessment.text.wordlists import list_words

_LIST_NUMBER = re.compile(r"(?m)^[ \t]*\d+[.)]\s")
_PASSAGE_NUMBER = re.compile(
    r"\bpassages?\s+\d+(?:\s*(?:,|and|&)\s*\d+)*|\[\d+(?:\s*,\s*\d+)*\]", re.IGNORECASE
)
_QUANTITY = re.compile(
    r"(?P<money>[$€£¥₫])?\s?(?P<number>\d+(?:[.,]\d+)*)\s?"
    r"(?P<unit>%|‰|°\s?[CF]\b|[$€£¥₫đ]|[^\W\d_]+)?"
)
MEASURES: frozenset[str] = list_words("measures")
"""Units that change the meaning of a number; any other word after a number may be replaced by a synonym."""

_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")


def stated_quantities(text: str) -> frozenset[tuple[str, str]]:
    """Every number but those of list items and passages, with its unit or next word: ``("30", "day")``."""
    stating = _PASSAGE_NUMBER.sub(" ", _LIST_NUMBER.sub(" ", text))
    return frozenset(
        (_canonical(match["number"]), _unit(match["money"] or match["unit"] or ""))
        for match in _QUANTITY.finditer(stating)
    )


def _canonical(number: str) -> str:
    """One spelling of a number: no thousands separator, no leading or trailing zero."""
    bare = _THOUSANDS.sub("", number).replace(",", ".")
    if bare.count(".") == 1:
        bare = bare.rstrip("0").rstrip(".")
    return bare.lstrip("0") or "0"


def _unit(text: str) -> str:
    return "".join(text.casefold().split()).removesuffix("s")
