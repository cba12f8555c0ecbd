"""Whether a sentence gives a price of its quotes for another period than they do: a month, a year."""

from __future__ import annotations

import re
from typing import Final

from worker.assessment.reading.numbers import figures
from worker.assessment.reading.units import MONEY, periods
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import word_tokens

_CLAUSE: Final = re.compile(r"(?:[^,.;:!?|\n，。；：！？、،؛؟]|[.,:](?=\d))+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
WORDS_OF_RATE: Final = 3
"""Words after a price that may name its period: "euros a month"."""


def other_period(sentence: str, quoted: str) -> str | None:
    """A period ("year") to which a sentence gives a price that its quotes give to another one, or None."""
    if MONEY.isdisjoint(figures(sentence).units) or MONEY.isdisjoint(figures(quoted).units):
        return None
    said = _priced_periods(sentence)
    stated = _priced_periods(quoted) if said else {}
    for price in said.keys() & stated.keys():
        if said[price].isdisjoint(stated[price] | periods(quoted)):
            return min(said[price])
    return None


def _priced_periods(text: str) -> dict[frozenset[str], frozenset[str]]:
    """The prices of clauses with one number, and the periods directly after them ("€49 per month")."""
    found = {}
    for clause in _CLAUSE.findall(folded_text(text)):
        number, stated = _NUMBER.search(clause), figures(clause)
        if number is not None and len(stated.numbers) == 1 and MONEY & {*stated.units}:
            named = periods(" ".join(word_tokens(clause[number.end() :])[:WORDS_OF_RATE]))
            if named:
                found[stated.numbers[0]] = named
    return found
