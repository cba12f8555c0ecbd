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

from worker.assessment.reading.verbatim import copies
from worker.assessment.text.citations import without_citations
from worker.assessment.text.grammars import Grammar, grammars
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import split_sentences
from worker.assessment.values import DraftCase


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    """The compiled grammar of one language.

    Attributes:
        done: what the speaker has done.
        acts: that, what the speaker will do, and what the company or its people will do.
    """

    grammar: Grammar
    done: re.Pattern[str]
    acts: re.Pattern[str]
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
    return any(each.done.search(plain) for each, plain in _acting(sentence))


def _promises(sentence: str) -> bool:
    """Whether a sentence, but no question, has an act of the speaker or of the company for the author."""
    return any(each.acts.search(plain) for each, plain in _acting(sentence))


def _acting(sentence: str) -> Iterator[tuple[_Patterns, str]]:
    """Each language in which a sentence that is no question has an act, with it folded and unconditional."""
    folded = folded_text(sentence)
    if not folded.rstrip(" \"'”»").endswith(("?", "？")):
        for each in _compiled().values():
            if each.grammar.may_match(folded) and each.acts.search(folded):  # hardly any sentence
                yield each, each.not_promised.sub(" … ", folded)


def prepare() -> None:
    """Compile the patterns now instead of at the first draft."""
    _compiled()


@cache
def _compiled() -> Mapping[str, _Patterns]:
    return {language: _patterns(grammar) for language, grammar in grammars("promises").items()}


def _patterns(grammar: Grammar) -> _Patterns:
    before, after = grammar.word_ends
    return _Patterns(
        grammar=grammar,
        done=re.compile(f"{before}(?:{grammar.one_of('done')}){after}"),
        acts=re.compile(f"{before}(?:{grammar.one_of('done', 'own', 'team')}){after}"),
        not_promised=re.compile(grammar.one_of("not_promised")),
    )
