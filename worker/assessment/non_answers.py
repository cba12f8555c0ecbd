"""Recognises a non-answer: a draft that says that it has no answer, and nothing else.

A draft is split into clauses at punctuation and before words of contrast. It is a non-answer when one clause
is an admission ("I do not know ...") and every other clause is a courtesy, a referral or names the sources.
Any other clause makes the draft an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from worker.assessment.text.citations import without_citations
from worker.assessment.text.grammars import Grammar, grammars, idioms
from worker.assessment.text.small_talk import is_small_talk
from worker.assessment.text.wordlists import folded_text, list_pattern

_MOST_CHARS = 600
"""Longest non-answer; a longer draft also says something else."""

_SENTENCE = re.compile(r"[^.!?。！？…\n]+[.!?。！？…]*")
_CLAUSE_END = r"[,，、;；:：()（）\"“”«»—–]|\s-\s"
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    """The compiled grammar of one language."""

    grammar: Grammar
    split: re.Pattern[str]
    admission: re.Pattern[str]
    filler: re.Pattern[str]
    dependent: re.Pattern[str]
    condition: re.Pattern[str]


def is_non_answer(text: str) -> bool:
    """Whether a draft only says that it has no answer."""
    return len(text) <= _MOST_CHARS and _is_non_answer(without_citations(text))


@lru_cache(maxsize=256)
def _is_non_answer(text: str) -> bool:
    """``is_non_answer``, cached: the gate and a policy ask about the same draft."""
    plain = without_idioms(text)
    return any(_says_nothing_else(plain, patterns) for patterns in _compiled().values())


def admits_ignorance(text: str) -> bool:
    """Whether at least one clause says that the speaker has no answer."""
    plain = without_idioms(without_citations(text))
    return any(
        _admits(clause, patterns)
        for patterns in _compiled().values()
        if patterns.admission.search(plain)
        for clause in _clauses(plain, patterns)
    )


def only_refers(folded: str) -> bool:
    """Whether every clause of folded text is a courtesy, an offer, an admission, or refers to a person."""
    return any(
        all(_admits(clause, patterns) or _is_empty(clause, patterns) for clause in _clauses(folded, patterns))
        for patterns in _compiled().values()
    )


def without_idioms(text: str) -> str:
    """Folded text without idioms that only look like an admission: "if you do not know your size"."""
    return idioms().sub(" … ", folded_text(text))


def _says_nothing_else(plain: str, patterns: _Patterns) -> bool:
    if not patterns.grammar.may_match(plain) or patterns.admission.search(plain) is None:
        return False  # most texts: they need not be split into clauses
    admitted = open_condition = False
    for clause in _clauses(plain, patterns):
        if _admits(clause, patterns):
            admitted, open_condition = True, False
        elif open_condition:
            return False
        elif patterns.condition.match(clause):
            open_condition = True
        elif not (_is_empty(clause, patterns) or (admitted and patterns.dependent.match(clause))):
            return False
    return admitted and not open_condition


def _clauses(plain: str, patterns: _Patterns) -> Iterator[str]:
    """The clauses of every sentence; a clause of a question keeps a question mark and is no admission."""
    for sentence in _SENTENCE.findall(plain):
        asks = sentence.rstrip().endswith(("?", "？"))
        for part in patterns.split.split(sentence):
            clause = part.strip(" \t.!?。！？…'’*-")
            if clause:
                yield f"{clause}?" if asks else clause


def _admits(clause: str, patterns: _Patterns) -> bool:
    found = patterns.admission.search(clause)
    if found is None or clause.endswith("?"):
        return False
    return patterns.filler.fullmatch(clause[: found.start()].strip()) is not None


def _is_empty(clause: str, patterns: _Patterns) -> bool:
    """Whether a clause is a courtesy or an offer, names the sources or refers the author to a person."""
    plain = clause.rstrip("?").strip()
    if is_small_talk(plain) or patterns.filler.fullmatch(plain):
        return True
    refers = any(list_pattern(name).search(plain) for name in ("handoffs", "referrals", "offers_of_more"))
    return refers and not _DIGIT.search(plain) and not list_pattern("claims").search(plain)


def prepare() -> None:
    """Compile the patterns now instead of at the first draft: 0.3 s."""
    _compiled()


@cache
def _compiled() -> Mapping[str, _Patterns]:
    return {language: _patterns(grammar) for language, grammar in grammars("non_answers").items()}


def _patterns(grammar: Grammar) -> _Patterns:
    before, after = grammar.word_ends
    gap = r"[\s']+" if grammar.spaced else r"\s*"
    return _Patterns(
        grammar=grammar,
        split=re.compile(f"{_CLAUSE_END}|{before}(?:{grammar.one_of('contrasts')}){after}"),
        admission=re.compile(f"{before}(?:{grammar.one_of('admissions')}){after}"),
        filler=re.compile(
            f"(?:(?:{grammar.one_of('filler')}){after}(?:{gap}|$))*(?:{grammar.one_of('sources')})?"
        ),
        dependent=re.compile(grammar.one_of("dependent")),
        condition=re.compile(grammar.one_of("condition")),
    )
