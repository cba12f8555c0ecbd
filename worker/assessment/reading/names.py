"""Names that a sentence has and its evidence lacks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from worker.assessment.reading.cldr_names import language_names, short_day_names
from worker.assessment.reading.dates import AMBIGUOUS, MONTHS, calendar_days, covered_dates, named_dates
from worker.assessment.reading.languages import denies, language_of, same_language
from worker.assessment.reading.units import is_unit
from worker.assessment.reading.zones import ZONES
from worker.assessment.text.language import main_script
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words
from worker.assessment.text.words import TITLES, unaccented_text

_LATIN: Final = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_LATIN_WORD: Final = re.compile(rf"[{_LATIN}][{_LATIN}0-9'’-]*")
_ONE_LETTER: Final = re.compile(r"\w(?:['’][^\W\d_A-Z]\w*)?")
"""A letter, with what a language joins to it: "28 °C'dir", "L'équipe"."""
_ALONE: Final = re.compile(r"\s*([A-Z\u00c0-\u00de][a-z\u00df-\u024f]{2,})[.!]?\s*")
_AFTER_STOP: Final = re.compile(r"(?:^[\W_]*|[.!?¡¿:;–—\"“„(|\n][\s*_]*)$")
"""Before the first word of a sentence or part; list signs and emphasis may stand before it ("- **They**")."""
_AFTER_TITLE: Final = re.compile(rf"(?<!\w)(?:{TITLES})\.\s*$")
"""Before a name, however the language writes its nouns; the dot ends no sentence."""
_AFTER_KIND: Final = re.compile(r"(?:^|\W)(?:thứ|tiếng|bahasa)\s$", re.IGNORECASE)
"""Before the number of a Vietnamese day, which is compared as a date, and before a language ("tiếng Anh")."""
_ABBREVIATION: Final = re.compile(r"(?<!\w)([b-df-hj-np-tv-xz]{2,4})\.")
"""Consonants before a dot, such as "st." and "blvd.": no other word looks like that."""
NOUNS_IN_CAPITALS: Final = frozenset({"de", "lb"})
"""Languages that write every noun with a capital letter, so that a capital shows no name."""
_SUFFIX: Final = re.compile(r"(?<=\w{3})'\w+$")
"""The ending of a Turkish name: "İstanbul'da"."""
PREFIX: Final = 5
LEAST_LANGUAGE: Final = 5
"""Letters of a language's name that may have an ending, of at most ``MOST_ENDING`` letters."""
MOST_ENDING: Final = 3
MOST_BEFORE: Final = 40
"""Characters before a word that are looked at: more than any title and the spaces after it."""


def missing_names(sentence: str, *, draft: str, quoted: str, ground: str) -> list[str]:
    """Words written as names inside a sentence that the ground does not have in any form.

    Nor may names that the quotes lack stand in place of those that they have and the draft leaves out. One
    may name a calendar day of the quotes that the draft does not: Christmas.
    A draft that is one word in capitals names something, except yes and no.
    """
    if main_script(quoted) not in (None, main_script(sentence)) and not _LATIN_WORD.search(quoted):
        return []  # names in the letters of another script cannot be compared
    alone = _ALONE.fullmatch(sentence)
    if alone is not None and sentence == draft and not _is_answer(sentence):
        return _unknown([alone[1]], ground)
    beyond = _unknown(_names(sentence), quoted)
    of_day = beyond and calendar_days(quoted) and MONTHS.isdisjoint(covered_dates(draft))
    unknown = [] if of_day else _unknown(beyond, ground)
    return unknown or _replacing(beyond, sentence, draft, quoted)


def _unknown(names: Sequence[str], text: str) -> list[str]:
    known = folded_text(text) if names else ""
    return [each for each in names if not _is_known(folded_text(each), known) and not _is_no_name(each)]


def _replacing(said: list[str], sentence: str, draft: str, quoted: str) -> list[str]:
    """The names of a sentence that are not those of the quotes, where the draft has none of the quotes'."""
    if not said or not same_language(sentence, quoted):
        return []
    if denies(folded_text(sentence), language_of(sentence)):  # a no names what is not there
        return []
    stated = [each for each in _names(quoted) if not _is_no_name(each)]
    return said if stated and len(_unknown(stated, draft)) == len(stated) else []


def _is_answer(word: str) -> bool:
    folded = folded_text(word)
    lists = ("yes_heads", "no_heads", "agreements", "courtesies")
    return any(list_pattern(name).match(folded) for name in lists)


def _is_no_name(word: str) -> bool:
    """Whether a word is a date, unit or zone, which is compared apart, or a language: an adjective too."""
    folded = folded_text(word)
    is_day = not short_day_names().keys().isdisjoint((word, folded))
    is_compared = bool(named_dates(word)) or is_day or folded in AMBIGUOUS or folded in ZONES
    return is_compared or _is_language(folded) or is_unit(folded)


def _is_language(folded: str) -> bool:
    """Whether a word is a language, also with an ending ("Franse", "Almancada")."""
    least = max(LEAST_LANGUAGE, len(folded) - MOST_ENDING)
    return any(folded[:n] in _languages() for n in (*range(least, len(folded)), len(folded)))


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
        if not word[0].isupper() or _AFTER_KIND.search(before):
            continue
        if (nouns_in_capitals or _AFTER_STOP.search(before)) and not _AFTER_TITLE.search(before):
            continue
        if word in list_words("capital_pronouns") or _ONE_LETTER.fullmatch(word):
            continue
        found.append(word)
    return found


def _is_known(word: str, ground: str) -> bool:
    bare = _SUFFIX.sub("", word.rstrip("s'’"))
    head = bare[: max(PREFIX, len(bare) - 2)]
    if head in ground or any(re.match(".*".join(each), word) for each in _ABBREVIATION.findall(ground)):
        return True
    return unaccented_text(head) in unaccented_text(ground)  # as people type "noel"
