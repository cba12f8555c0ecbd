"""The relevance of a draft by its signals, and whether passages can answer a question at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from worker.assessment.relevance.asked import asked_for, expected_kind
from worker.assessment.relevance.matching import Words, missing_share
from worker.assessment.relevance.signals import is_short, passage_text, relevance_signals
from worker.assessment.text.citations import without_citations
from worker.assessment.text.language import function_word_language, main_script
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.values import DraftCase

_FLAWS = ("kind_missing", "nothing_new", "unfinished", "repeats_turn")
"""Signals that refuse a draft of any length."""

_REASONS = (
    ("off_focus", 0.5, "the draft and its place in the passages lack words of the question"),
    ("other_figure", 0.5, "the draft has another number than the question"),
    ("kind_missing", 1.0, "the draft lacks the kind of answer that the question asks for"),
    ("nothing_new", 1.0, "the draft says nothing that the question does not say"),
    ("unfinished", 1.0, "the draft stops before its end"),
    ("repeats_turn", 0.5, "the draft repeats the reply before"),
)
"""Signal, value from which it is a reason, and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceScore:
    """How far a draft answers its question, by its signals.

    Attributes:
        score: 0..1, probability that it does.
        never_refuses: whether words alone must not refuse the draft: it is a short answer of the kind
            expected, which need not repeat a word of the question ("Yes, until 6 pm."), or in another script.
    """

    signals: Mapping[str, float]
    score: float
    never_refuses: bool


class RelevanceModel(Protocol):
    """From relevance signals to a probability."""

    def confidence(self, signals: Mapping[str, float]) -> float:
        """0..1, probability that the draft answers the question."""
        ...


def draft_relevance_signals(case: DraftCase) -> Mapping[str, float] | None:
    """The relevance signals of a draft; None where relevance cannot be measured, such as for a task."""
    asked = asked_for(case.query, case.evidence.history)
    if asked is None:
        return None
    return relevance_signals(asked, passage_text(case.evidence.passages), without_citations(case.draft))


def relevance_score(case: DraftCase, model: RelevanceModel) -> RelevanceScore | None:
    """The relevance of a draft; None where it cannot be measured."""
    asked = asked_for(case.query, case.evidence.history)
    if asked is None:
        return None
    prose = without_citations(case.draft)
    signals = relevance_signals(asked, passage_text(case.evidence.passages), prose)
    return RelevanceScore(
        signals=signals,
        score=model.confidence(signals),
        never_refuses=_other_script(case)
        or (is_short(asked, prose) and all(signals[name] < 0.5 for name in _FLAWS)),
    )


def relevance_reasons(score: RelevanceScore | None) -> tuple[str, ...]:
    """The signals against a draft in words, for a reviewer."""
    if score is None:
        return ()
    return tuple(text for name, least, text in _REASONS if score.signals[name] >= least)


def _other_script(case: DraftCase) -> bool:
    """Whether the question is in another script than the draft, so that no word can be shared."""
    one, other = main_script(case.query), main_script(case.draft)
    return one is not None and other is not None and one != other


def answerable_share(case: DraftCase) -> float | None:
    """0..1, weighted share of the question's words that its passages have; None where words do not tell.

    Passages found by meaning may be in another language than the question; then words do not tell. A
    statement, or a wish to talk to a person, is no question to the passages.
    """
    if not _asks_the_passages(case.query):
        return None
    asked = asked_for(case.query, case.evidence.history)
    if asked is None or max(asked.weights.values()) < 1.0:
        return None
    by_meaning = any(passage.percentile is not None for passage in case.evidence.passages)
    if by_meaning and not _same_language(case.query, case.context):
        return None
    text = passage_text(case.evidence.passages)
    known = frozenset[str]().union(*text.sentences, *text.heads)
    return 1.0 - missing_share(asked.weights, Words(known))


def _asks_the_passages(query: str) -> bool:
    asks = expected_kind(query) is not None or "?" in query or "？" in query
    return asks and list_pattern("asks_for_people").search(folded_text(query)) is None


def _same_language(query: str, context: str) -> bool:
    found = function_word_language(query)
    return found is not None and found == function_word_language(context)
