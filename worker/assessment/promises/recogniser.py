"""Finds the promises of a draft, and tells those that only quote a passage.

A promise is a sentence, but no question, in which the speaker, the company or its people will act for the
author or have acted. The speaker's own act is always an unkept promise. An act of the company is a
quotation if one sentence of the passages says the same; if a passage says part of it, the promise is in
doubt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from worker.assessment.promises.asian import CHINESE, VIETNAMESE
from worker.assessment.promises.english import ENGLISH
from worker.assessment.promises.european import FRENCH, GERMAN, SPANISH
from worker.assessment.promises.grammar import PromiseGrammar
from worker.assessment.signals.grounds import evidence_grounds
from worker.assessment.signals.sentences import sentence_coverage
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

_QUOTED = 0.34
"""Most facts of a quotation, as a share, that its passage does not contain."""
_IN_DOUBT = 0.6
"""The same share up to which a judge is asked whether a promise is a quotation."""


class PromiseKind(StrEnum):
    """How sure it is that a sentence promises an action."""

    CERTAIN = "certain"
    IN_DOUBT = "in doubt"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseFound:
    """A sentence of a draft that promises an action.

    Attributes:
        sentence: as the draft has it, without citations.
    """

    kind: PromiseKind
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    own: re.Pattern[str]
    team: re.Pattern[str]
    not_promised: re.Pattern[str]


def promise_of(case: DraftCase) -> PromiseFound | None:
    """The promise of a draft that is surest, or None."""
    in_doubt = None
    passages = None
    for sentence in split_sentences(without_citations(case.draft)):
        if (own := _promises(sentence)) is None:
            continue
        if own:
            return PromiseFound(kind=PromiseKind.CERTAIN, sentence=sentence)
        passages = split_sentences(case.context) if passages is None else passages
        missing = _missing_share(sentence, passages)
        if missing > _IN_DOUBT:
            return PromiseFound(kind=PromiseKind.CERTAIN, sentence=sentence)
        if missing > _QUOTED and in_doubt is None:
            in_doubt = PromiseFound(kind=PromiseKind.IN_DOUBT, sentence=sentence)
    return in_doubt


def _promises(sentence: str) -> bool | None:
    """True for the speaker's own act, False for one of the company, None for neither."""
    folded = folded_text(sentence)
    if folded.rstrip(" \"'”»").endswith(("?", "？")):
        return None
    found = None
    for patterns in _compiled().values():
        plain = patterns.not_promised.sub(" … ", folded)
        if patterns.own.search(plain):
            return True
        if found is None and patterns.team.search(plain):
            found = False
    return found


def _missing_share(sentence: str, passages: list[str]) -> float:
    """Share of a sentence's facts that the nearest sentence of the passages lacks; 1 without any."""
    shares = [
        cover.missing / cover.facts
        for passage in passages
        for cover in sentence_coverage(evidence_grounds("", passage), (sentence,))
    ]
    return min(shares, default=1.0)


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
