"""Names that a sentence has and its evidence lacks."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from worker.assessment.reading.cldr_names import language_names, short_day_names
from worker.assessment.reading.dates import AMBIGUOUS, named_dates
from worker.assessment.reading.languages import language_of
from worker.assessment.reading.zones import ZONES
from worker.assessment.text.language import main_script
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words
from worker.assessment.text.words import TITLES

_LATIN_WORD: Final = re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f'’-]*")
_ALONE: Final = re.compile(r"\s*([A-Z\u00c0-\u00de][a-z\u00df-\u024f]{2,})[.!]?\s*")
_AFTER_STOP: Final = re.compile(r"(?:^|[.!?¡¿:;–—\"“„(\n]\s*)$")
_AFTER_TITLE: Final = re.compile(rf"(?<!\w)(?:{TITLES})\.\s*$")
"""Before a name, however the language writes its nouns; the dot ends no sentence."""
_AFTER_DAY: Final = re.compile(r"(?:^|\W)[Tt]hứ\s$")
"""Before the number of a Vietnamese day, which is compared as a date."""
_ABBREVIATION: Final = re.compile(r"(?<!\w)([b-df-hj-np-tv-xz]{2,4})\.")
"""Consonants before a dot, such as "st." and "blvd.": no other word looks like that."""
NOUNS_IN_CAPITALS: Final = frozenset({"de", "lb"})
"""Languages that write every noun with a capital letter, so that a capital shows no name."""
PREFIX: Final = 5
MOST_BEFORE: Final = 40
"""Characters before a word that are looked at: more than any title and the spaces after it."""


def missing_names(sentence: str, *, draft: str, ground: str) -> list[str]:
    """Words written as names inside a sentence that the ground does not have in any form.

    A draft that is one word in capitals names something, except yes and no.
    """
    known = folded_text(ground)
    alone = _ALONE.fullmatch(sentence)
    if alone is not None and sentence == draft and not _is_answer(sentence):
        return [] if _is_known(folded_text(alone[1]), known) or _is_no_name(alone[1]) else [alone[1]]
    return [
        each for each in _names(sentence) if not _is_known(folded_text(each), known) and not _is_no_name(each)
    ]


def _is_answer(word: str) -> bool:
    folded = folded_text(word)
    lists = ("yes_heads", "no_heads", "agreements", "courtesies")
    return any(list_pattern(name).match(folded) for name in lists)


def _is_no_name(word: str) -> bool:
    """Whether a word is a date or time zone, which is compared apart, or a language: an adjective too."""
    folded = folded_text(word)
    is_day = not short_day_names().keys().isdisjoint((word, folded))
    is_compared = bool(named_dates(word)) or is_day or folded in AMBIGUOUS or folded in ZONES
    return is_compared or folded in _languages()


@cache
def _languages() -> frozenset[str]:
    return frozenset(folded_text(name) for name in language_names())


def _names(sentence: str) -> list[str]:
    script = main_script(sentence)
    if script != "latin":
        return [each for each in _LATIN_WORD.findall(sentence) if len(each) > 1]
    nouns_in_capitals = language_of(sentence) in NOUNS_IN_CAPITALS
    found = []
    for match in _LATIN_WORD.finditer(sentence):
        word, before = match[0], sentence[max(0, match.start() - MOST_BEFORE) : match.start()]
        if not word[0].isupper() or _AFTER_DAY.search(before):
            continue
        if (nouns_in_capitals or _AFTER_STOP.search(before)) and not _AFTER_TITLE.search(before):
            continue
        if word in list_words("capital_pronouns") or len(word) == 1:
            continue
        found.append(word)
    return found


def _is_known(word: str, ground: str) -> bool:
    bare = word.rstrip("s'’")
    return bare[: max(PREFIX, len(bare) - 2)] in ground or any(
        re.match(".*".join(each), word) for each in _ABBREVIATION.findall(ground)
    )
