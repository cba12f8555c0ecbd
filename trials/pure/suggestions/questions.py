"""Questions without a right answer, grouped by their words: documents that are missing or wrong."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from trials.pure.suggestions.model import LearningSuggestion, SeenMessage, SuggestionKind, decision_times
from trials.pure.suggestions.words import tells, written_words
from worker.assessment.text.words import content_units, fact_units, normalised_text

LEAST_QUESTIONS: Final = 3
LEAST_AUTHORS: Final = 2
NEAR: Final = 0.35
"""Least cosine of a question and the mean of a group that it joins."""
MOST_GROUPS: Final = 20
NAME_WORDS: Final = 3
EXAMPLES: Final = 10
TOPIC_WEIGHT: Final = 2.0
"""A topic that the assessment named counts as much as so many words."""


@dataclass(slots=True, kw_only=True)
class _Group:
    """Questions that share words, with the sum of their unit vectors."""

    members: list[SeenMessage] = field(default_factory=list)
    total: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    norm: float = 0.0

    def cosine(self, vector: Mapping[str, float]) -> float:
        return sum(value * self.total.get(unit, 0.0) for unit, value in vector.items()) / (self.norm or 1.0)

    def add(self, question: SeenMessage, vector: Mapping[str, float]) -> None:
        self.members.append(question)
        for unit, value in vector.items():
            self.total[unit] += value
        self.norm = math.sqrt(sum(value * value for value in self.total.values()))


def document_suggestions(
    questions: Sequence[SeenMessage], kind: SuggestionKind = SuggestionKind.DOCUMENT
) -> tuple[LearningSuggestion, ...]:
    """Groups of questions, the largest first; each is a document to write, or to correct.

    Every question joins the nearest group by the cosine of its words, each weighted by how few questions have
    it, or begins one; oldest first, so that a new question does not regroup the others.
    """
    ordered = sorted(questions, key=lambda each: (each.decided_at, each.decision_id))
    groups: list[_Group] = []
    by_unit: dict[str, set[int]] = defaultdict(set)
    for question, vector in zip(ordered, _vectors(ordered), strict=True):
        near = sorted({number for unit in vector for number in by_unit[unit]})
        best = max(near, key=lambda number: groups[number].cosine(vector), default=None)
        if best is None or groups[best].cosine(vector) < NEAR:
            best = len(groups)
            groups.append(_Group())
        groups[best].add(question, vector)
        for unit in vector:
            by_unit[unit].add(best)
    found = [each for each in groups if _is_frequent(each.members)]
    found.sort(key=lambda each: (-len(each.members), each.members[0].decision_id))
    return tuple(_suggestion(each, kind) for each in found[:MOST_GROUPS])


def _vectors(questions: Sequence[SeenMessage]) -> list[dict[str, float]]:
    """The words of each question by weight, each vector of length 1; empty without a word of another one."""
    counted = [_units(each) for each in questions]
    having = Counter(unit for units in counted for unit in units)
    vectors = []
    for units in counted:
        shared = {unit: count for unit, count in units.items() if having[unit] > 1}
        raw = {unit: count * math.log(1 + len(questions) / having[unit]) for unit, count in shared.items()}
        length = math.sqrt(sum(value * value for value in raw.values()))
        vectors.append({unit: value / length for unit, value in raw.items()} if length else {})
    return vectors


def _units(question: SeenMessage) -> Counter[str]:
    units: Counter[str] = Counter(dict.fromkeys(fact_units(content_units(normalised_text(question.text))), 1))
    for topic in question.topics:
        for unit in fact_units(content_units(normalised_text(topic))):
            units[unit] += int(TOPIC_WEIGHT)
    return units


def _is_frequent(members: Sequence[SeenMessage]) -> bool:
    return len(members) >= LEAST_QUESTIONS and len({each.author for each in members}) >= LEAST_AUTHORS


def _suggestion(group: _Group, kind: SuggestionKind) -> LearningSuggestion:
    name = _name(group.members)
    newest = sorted(group.members, key=lambda each: (each.decided_at, each.decision_id), reverse=True)
    return LearningSuggestion(
        kind=kind,
        key=str(group.members[0].decision_id),
        evidence={
            "words": name,
            "questions": len(group.members),
            "authors": len({each.author for each in group.members}),
            "newest": newest[0].decided_at.isoformat(),
        },
        decisions=decision_times(newest[:EXAMPLES]),
    )


def _name(members: Sequence[SeenMessage]) -> list[str]:
    """The words of most questions, of at least two authors each, so that none names a person."""
    authors: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for each in members:
        words = {word for word in written_words(each.text) if tells(word)}
        counts.update(words)
        for word in words:
            authors[word].add(each.author)
    shared = [word for word in counts if len(authors[word]) >= LEAST_AUTHORS]
    return sorted(shared, key=lambda word: (-counts[word], word))[:NAME_WORDS]
