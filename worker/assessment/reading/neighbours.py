"""Whether a sentence gives an amount of its quotes to another subject or period than they do."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import combinations
from typing import Final

from worker.assessment.reading.languages import content_of, language_of, says
from worker.assessment.reading.numbers import figures
from worker.assessment.reading.units import BARE, MONEY, periods
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import unaccented_unit, word_tokens

_CLAUSE: Final = re.compile(r"(?:[^,.;:!?|\n，。；：！？、،؛؟]|[.,:](?=\d))+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
MOST_CLAUSES: Final = 20
"""Clauses with amounts that are compared."""
SHARED: Final = 5
"""Letters by which the forms of a word are known."""
WORDS_OF_RATE: Final = 3
"""Words after a price that may name its period: "euros a month"."""
TIME: Final = "time"
ByUnit = dict[str, frozenset[str]]
"""Unit of measure, or ``time`` -> the numbers that a text has of it."""


def neighbours_amount(sentence: str, *, draft: str, quoted: str, question: str) -> str | None:
    """An amount of an earlier clause that a sentence gives to the subject of a later one, or None.

    The later clause, of the same line, has one of its own with the same unit. Only this order is certain: a
    clause without a subject has that of the clause before it ("adults pay €12, at the door €15"). A "not" or
    "without" may turn the subjects round.
    """
    said, stated, whole = map(_amounts, (sentence, quoted, draft))
    if all(len(stated.get(unit, ())) < 2 for unit in said):  # as for most sentences
        return None
    spoken, language = folded_text(f"{draft}\n{question}"), language_of(draft)
    if any(says(name, spoken, language) for name in ("negating", "privative", "exceptions")):
        return None
    named, asked = _words(draft), _words(question)
    for line in quoted.splitlines():
        clauses = [(_words(each), found) for each in _CLAUSE.findall(line) if (found := _amounts(each))]
        for (first, before), (later, after) in combinations(clauses[:MOST_CLAUSES], 2):
            if not (named or asked) & later - first or (named | asked) & first - later:
                continue
            elsewhere = [each for words, each in clauses if words is not first]
            for unit in before.keys() & after.keys() & said.keys():
                taken = said[unit] & before[unit].difference(*(each.get(unit, ()) for each in elsewhere))
                if taken and whole[unit].isdisjoint(after[unit] - before[unit]):
                    return min(taken)
    return None


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


def _amounts(text: str) -> ByUnit:
    found: dict[str, set[str]] = defaultdict(set)
    stated = figures(text)
    for readings, unit in stated.units_of():
        if unit not in BARE:
            found[unit] |= readings
    for time in stated.times:
        found[TIME].add(f"{time // 60}:{time % 60:02}")
    return {unit: frozenset(each) for unit, each in found.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(each[:SHARED] for each in map(unaccented_unit, content_of(text)))
