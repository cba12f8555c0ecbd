"""Finds sentences of a draft that read like promises.

In such a sentence, which is no question, the speaker, the company or its people will act for the author or
have acted. Words cannot tell a promise to one author from a rule for everyone in other words, so the judge
decides; without a reading the sentence counts as a promise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from worker.assessment.promises.asian import CHINESE, VIETNAMESE
from worker.assessment.promises.english import ENGLISH
from worker.assessment.promises.european import FRENCH, GERMAN, SPANISH
from worker.assessment.promises.grammar import PromiseGrammar
from worker.assessment.reading.verbatim import copies
from worker.assessment.text.citations import without_citations
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import split_sentences
from worker.assessment.values import DraftCase

GRAMMARS: Mapping[str, PromiseGrammar] = {
    "en": ENGLISH,
    "vi": VIETNAMESE,
    "zh": CHINESE,
    "de": GERMAN,
    "es": SPANISH,
    "fr": FRENCH,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    own: re.Pattern[str]
    team: re.Pattern[str]
    not_promised: re.Pattern[str]


def promises_of(case: DraftCase) -> tuple[str, ...]:
    """The sentences of a draft that read like promises, without those that a passage has word for word."""
    return tuple(
        sentence
        for sentence in split_sentences(without_citations(case.draft))
        if _promises(sentence) and not copies([sentence], case.context)
    )


def _promises(sentence: str) -> bool:
    """Whether a sentence, but no question, has an act of the speaker or of the company for the author."""
    folded = folded_text(sentence)
    if folded.rstrip(" \"'”»").endswith(("?", "？")):
        return False
    for patterns in _compiled().values():
        plain = patterns.not_promised.sub(" … ", folded)
        if patterns.own.search(plain) or patterns.team.search(plain):
            return True
    return False


def prepare() -> None:
    """Compile the patterns now instead of at the first draft: 0.3 s."""
    _compiled()


@cache
def _compiled() -> Mapping[str, _Patterns]:
    return {language: _patterns(grammar) for language, grammar in GRAMMARS.items()}


def _patterns(grammar: PromiseGrammar) -> _Patterns:
    before, after = (r"(?<!\w)", r"(?!\w)") if grammar.spaced else ("", "")

    def one_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
        return re.compile(f"{before}(?:{'|'.join(f'(?:{each})' for each in phrases)}){after}")

    return _Patterns(
        own=one_of(grammar.own), team=one_of(grammar.team), not_promised=re.compile(grammar.not_promised)
    )
