"""The main clauses of a text, and the sentences of the passages that speak of the same as a sentence."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from worker.assessment.reading.languages import language_of, same_language
from worker.assessment.text.once import KEPT_TEXTS, once
from worker.assessment.text.wordlists import language_pattern
from worker.assessment.text.words import fact_units, split_sentences, text_units


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


@once
def speaking_of(sentence: str, passages: str) -> tuple[str, ...]:
    """The sentences of the passages that share a content word, those beside them, and rows of tables.

    All sentences of the passages where they are in another language.
    """
    parts = split_sentences(passages)
    if not same_language(sentence, passages):
        return tuple(parts)
    said = content_of(sentence)
    near = [part[:1] == "|" or not said.isdisjoint(content_of(part)) for part in parts]
    beside = zip(parts, near, (*near[1:], False), (False, *near[:-1]), strict=True)
    return tuple(part for part, *shares in beside if any(shares))
