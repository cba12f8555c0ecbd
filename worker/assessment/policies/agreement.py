"""How far several drafts of one question agree: their facts and figures, without a model call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.assessment.non_answers import is_non_answer
from worker.assessment.reading.numbers import figures
from worker.assessment.text.citations import without_citations
from worker.assessment.text.words import fact_units, normalised_text, text_units

STEM: Final = 5
"""Fewest letters of a shared stem."""
NEAR: Final = 0.8
"""How far another form of a word counts."""
_HALVES: Final = frozenset({"am", "pm"})
"""Parts of a time of day, which is compared as a figure."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of one draft.

    Attributes:
        units: words that can state a fact, comparable.
        figures: numbers and times of day in one spelling.
        stems: beginnings of the longer units.
        answers: False for a draft that says that it has no answer.
    """

    units: frozenset[str]
    figures: frozenset[str]
    stems: frozenset[str]
    answers: bool


def _facts(draft: str) -> _Facts:
    text = normalised_text(without_citations(draft))
    found = text_units(text)
    units = frozenset(fact_units(found)) - _HALVES
    stated = figures(text)
    numbers = {min(each, key=len) for each in stated.numbers}
    times = {f"{time // 60}:{time % 60:02}" for time in stated.times}
    return _Facts(units, frozenset(numbers | times), frozenset(map(_stem, units)), not is_non_answer(draft))


def agreement(draft: str, others: Sequence[str]) -> float:
    """0..1, share of the draft's words and figures that at least one other draft states too.

    0 without another draft that answers, and for a draft without any answer. The lower one of the two shares
    counts, because a wrong figure among many right words is a wrong answer.
    """
    said, compared = _facts(draft), [found for other in others if (found := _facts(other)).answers]
    if not said.answers or not compared:
        return 0.0
    words = _mean([max(_holds(each, unit) for each in compared) for unit in said.units])
    numbers = _mean([float(any(each in other.figures for other in compared)) for each in said.figures])
    return min(words, numbers)


def _stem(unit: str) -> str:
    return unit[: max(STEM, len(unit) - 3)]


def _holds(facts: _Facts, unit: str) -> float:
    """0..1, how surely a draft has a word: itself, or another form of it."""
    return 1.0 if unit in facts.units else NEAR * (len(unit) >= STEM and _stem(unit) in facts.stems)


def most_central(drafts: Sequence[str]) -> int:
    """Place of the draft whose facts the others state most, the first of equals."""
    found = [_facts(draft) for draft in drafts]
    shares = [
        _mean([_shared(one, other) for at, other in enumerate(found) if at != place])
        for place, one in enumerate(found)
    ]
    return max(range(len(drafts)), key=lambda place: shares[place])


def _shared(one: _Facts, other: _Facts) -> float:
    """0..1, share of one draft's facts that another states; two drafts without an answer agree."""
    if not (one.answers and other.answers):
        return float(one.answers == other.answers)
    said = [float(unit in other.units) for unit in one.units]
    return _mean(said + [float(each in other.figures) for each in one.figures])


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 1.0
