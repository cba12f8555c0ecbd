"""Finds sentences of a draft that read like promises.

In such a sentence, which is no question, the speaker, the company or its people will act for the author or
have acted. Words cannot tell a promise to one author from a rule for everyone in other words, so the judge
decides; without a reading the sentence counts as a promise. What the speaker has done for the author is no
rule: no judge can find it in a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from worker.assessment.reading.verbatim import copies
from worker.assessment.text.citations import without_citations
from worker.assessment.text.grammars import Grammar, grammars, may_say
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import split_sentences
from worker.assessment.values import DraftCase

ACTS: Final = ("done", "own", "team")
"""What the speaker has done, what the speaker will do, and what the company or its people will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    done: re.Pattern[str]
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


def says_done(sentence: str) -> bool:
    """Whether a sentence says that the speaker has acted for the author."""
    return any(patterns.done.search(plain) for patterns, plain in _without_conditions(sentence))


def _promises(sentence: str) -> bool:
    """Whether a sentence, but no question, has an act of the speaker or of the company for the author."""
    if not may_say(folded_text(sentence), "promises", *ACTS):
        return False
    return any(
        each.search(plain)
        for patterns, plain in _without_conditions(sentence)
        for each in (patterns.done, patterns.own, patterns.team)
    )


def _without_conditions(sentence: str) -> Iterator[tuple[_Patterns, str]]:
    """The patterns of each language with a folded sentence that is no question, without its conditions."""
    folded = folded_text(sentence)
    if not folded.rstrip(" \"'”»").endswith(("?", "？")):
        for patterns in _compiled().values():
            yield patterns, patterns.not_promised.sub(" … ", folded)


def prepare() -> None:
    """Compile the patterns now instead of at the first draft: 0.3 s."""
    _compiled()
    may_say("", "promises", *ACTS)


@cache
def _compiled() -> Mapping[str, _Patterns]:
    return {language: _patterns(grammar) for language, grammar in grammars("promises").items()}


def _patterns(grammar: Grammar) -> _Patterns:
    before, after = grammar.word_ends
    return _Patterns(
        done=re.compile(f"{before}(?:{grammar.one_of('done')}){after}"),
        own=re.compile(f"{before}(?:{grammar.one_of('own')}){after}"),
        team=re.compile(f"{before}(?:{grammar.one_of('team')}){after}"),
        not_promised=re.compile(grammar.one_of("not_promised")),
    )
