"""The main clauses of a text, and its words with a meaning of their own."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from worker.assessment.reading.languages import language_of
from worker.assessment.text.once import KEPT_TEXTS
from worker.assessment.text.wordlists import language_pattern
from worker.assessment.text.words import fact_units, text_units


def main_clauses(folded: str) -> str:
    """The text without its subordinate clauses: "who cannot come" denies nothing of the main clause."""
    return _subordinate(language_of(folded)).sub(" ", folded)


@cache
def _subordinate(language: str | None) -> re.Pattern[str]:
    heads = language_pattern("subordinating", language).pattern
    return re.compile(rf"(?:{heads})[^,.;:!?()]*")


@lru_cache(maxsize=KEPT_TEXTS)
def content_of(text: str) -> frozenset[str]:
    """The words of a text with a meaning of their own."""
    return frozenset(fact_units(text_units(text)))
