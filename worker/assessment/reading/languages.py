"""Whether two texts can be compared word by word, and their main clauses and meaningful words."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from worker.assessment.text.language import detect_language, function_word_language
from worker.assessment.text.once import KEPT_TEXTS
from worker.assessment.text.wordlists import language_pattern
from worker.assessment.text.words import FUNCTION, fact_units, is_unspaced, text_units, unaccented_text

LATIN: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "vi")
"""Languages that differ by their words; others differ by their script."""


LEAST_SHARED: Final = 3
"""Letters that two forms of a word share at least where the endings of a language are unknown."""
MOST_CHARS: Final = 400
"""Characters that show the language of a text."""
WRITTEN_IN: Final = {"han": "zh", "kana": "ja", "hangul": "ko"}
"""Script -> the language of its word lists."""


def language_of(text: str) -> str | None:
    """The language of a text, or its script; None when neither is certain."""
    return _language_of(text[:MOST_CHARS])


@lru_cache(maxsize=KEPT_TEXTS)
def _language_of(text: str) -> str | None:
    found = detect_language(text, LATIN) or function_word_language(text)
    return WRITTEN_IN.get(found, found) if found else None


def says(name: str, folded: str, language: str | None) -> bool:
    """Whether folded text in a language has a phrase of a list: "do" limits in Polish, not in English."""
    return language_pattern(name, language).search(folded) is not None


def denies(folded: str, language: str | None) -> bool:
    """Whether folded text says that something is not, is closed or is excepted."""
    return any(says(name, folded, language) for name in ("negating", "lacking", "closed", "exceptions"))


def restricts(folded: str, language: str | None) -> bool:
    """Whether folded text names a condition; "must not" forbids and names none."""
    return says("restricting", language_pattern("forbidding", language).sub(" ", folded), language)


def same_language(one: str, other: str) -> bool:
    """Whether two texts are certainly in one language."""
    found = language_of(one)
    return found is not None and found == language_of(other)


def main_clauses(folded: str, language: str | None) -> str:
    """The text without its subordinate clauses: "who cannot come" denies nothing of the main clause."""
    return _subordinate(language).sub(" ", folded)


@cache
def _subordinate(language: str | None) -> re.Pattern[str]:
    heads = language_pattern("subordinating", language).pattern
    return re.compile(rf"(?:{heads})[^,.;:!?()]*")


@lru_cache(maxsize=KEPT_TEXTS)
def content_of(text: str) -> frozenset[str]:
    """The words of a text with a meaning of their own."""
    found = frozenset(fact_units(text_units(text))) - FUNCTION
    return frozenset(unit for unit in found if len(unit) > 2 or is_unspaced(unit))


def has_words(text: str, folded: str) -> bool:
    """Whether folded text has each word of a text, apart from numbers, in some form."""
    words = (each for each in content_of(text) if not any(map(str.isdigit, each)))
    known = unaccented_text(folded)
    return all(unaccented_text(_beginning(each)) in known for each in words)


def _beginning(word: str) -> str:
    """What the forms of a word share at least; a sign of Korean is a syllable."""
    return word[:2] if "\uac00" <= word <= "\ud7af" else word[: max(LEAST_SHARED, len(word) - 2)]
