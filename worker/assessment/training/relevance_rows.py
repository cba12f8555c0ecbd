"""Labelled rows about relevance, built from grounded replies to questions; nothing is random.

Every reply keeps its passages and becomes one row of each kind:

=================  ==========  =====================================================================
kind (``task``)    irrelevant  question
=================  ==========  =====================================================================
own                no          its own
own_after_turn     no          its own, after a turn about another question
other              yes         of another group
nearest            yes         of the other group that shares most of its rare words
cut                yes         its own, but the reply ends before it says anything new
previous           yes         of another group, after a turn with its own question and this reply
neighbour          yes         every other one about the same passages
=================  ==========  =====================================================================
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from worker.assessment.text.words import STOP, fact_units, normalised_text, text_units, word_tokens
from worker.assessment.training.rows import AssessmentRow
from worker.model import Message, MessageRole


class RelevanceKind(StrEnum):
    """How a row about relevance was made; only the first two kinds answer their question."""

    OWN = "own"
    OWN_AFTER_TURN = "own_after_turn"
    OTHER = "other"
    NEAREST = "nearest"
    CUT = "cut"
    PREVIOUS = "previous"
    NEIGHBOUR = "neighbour"

    @property
    def irrelevant(self) -> bool:
        """Whether the reply does not answer the question."""
        return self not in (RelevanceKind.OWN, RelevanceKind.OWN_AFTER_TURN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """Grounded replies to questions, with the words of their questions.

    Attributes:
        rarity: unit -> how rare it is among the questions, 0 for a unit of every question.
    """

    rows: tuple[AssessmentRow, ...]
    units: Mapping[str, frozenset[str]]
    rarity: Mapping[str, float]


def question_replies(rows: Sequence[AssessmentRow]) -> Replies:
    """The grounded replies to a question among ``rows``."""
    kept = tuple(row for row in rows if not row.ungrounded and row.query.strip())
    units = {row.query: _units(row.query) for row in kept}
    held = Counter(unit for found in units.values() for unit in found)
    rarity = {unit: math.log((1 + len(units)) / count) for unit, count in held.items()}
    return Replies(rows=kept, units=units, rarity=rarity)


def _units(text: str) -> frozenset[str]:
    found = text_units(normalised_text(text))
    return frozenset(fact_units(found)) | frozenset(unit for unit in found if unit.isdigit())


def relevance_rows(rows: Sequence[AssessmentRow]) -> Iterator[AssessmentRow]:
    """The rows of every kind; ``task`` is the kind, ``ungrounded`` whether the reply is irrelevant."""
    replies = question_replies(rows)
    if len({row.group for row in replies.rows}) < 2:
        return
    for number, row in enumerate(replies.rows):
        other, nearest = _other(replies, number), _nearest(replies, row)
        yield _row(row, RelevanceKind.OWN)
        yield _row(row, RelevanceKind.OWN_AFTER_TURN, history=_turn(other))
        yield _row(row, RelevanceKind.OTHER, query=other.query)
        yield _row(row, RelevanceKind.NEAREST, query=nearest.query)
        if (cut := _cut(row)) is not None:
            yield _row(row, RelevanceKind.CUT, response=cut)
        yield _row(row, RelevanceKind.PREVIOUS, query=other.query, history=_turn(row))
        for number_in_group, query in enumerate(_neighbours(replies, row)):
            found = _row(row, RelevanceKind.NEIGHBOUR, query=query)
            yield replace(found, row_id=f"{found.row_id}-{number_in_group}")


def _row(
    row: AssessmentRow,
    kind: RelevanceKind,
    *,
    query: str | None = None,
    response: str | None = None,
    history: tuple[Message, ...] = (),
) -> AssessmentRow:
    return replace(
        row,
        row_id=f"{row.row_id}/{kind}",
        task=kind.value,
        query=row.query if query is None else query,
        response=row.response if response is None else response,
        evidence=replace(row.evidence, history=history),
        ungrounded=kind.irrelevant,
    )


def _turn(row: AssessmentRow) -> tuple[Message, ...]:
    return (
        Message(role=MessageRole.USER, text=row.query),
        Message(role=MessageRole.ASSISTANT, text=row.response),
    )


def _neighbours(replies: Replies, row: AssessmentRow) -> list[str]:
    same = (each.query for each in replies.rows if each.group == row.group and each.query != row.query)
    return list(dict.fromkeys(same))


def _other(replies: Replies, number: int) -> AssessmentRow:
    """The reply half of the list further on, or the next one of another group and question."""
    rows, row = replies.rows, replies.rows[number]
    half = len(rows) // 2
    after = (rows[(number + half + step) % len(rows)] for step in range(len(rows)))
    return next(each for each in after if each.group != row.group and each.query != row.query)


def _nearest(replies: Replies, row: AssessmentRow) -> AssessmentRow:
    """The reply of another group whose question shares most of its words, rare ones first."""
    mine = replies.units[row.query]

    def shared(each: AssessmentRow) -> float:
        theirs = replies.units[each.query]
        both = sum(replies.rarity[unit] for unit in mine & theirs)
        return both / (1.0 + sum(replies.rarity[unit] for unit in mine | theirs))

    others = (each for each in replies.rows if each.group != row.group and replies.units[each.query] != mine)
    return max(others, key=shared)


def _cut(row: AssessmentRow) -> str | None:
    """The reply up to its first word that neither the question nor grammar has; None when nothing is left."""
    asked = _units(row.query) | STOP
    end = 0
    for token in word_tokens(row.response):
        if not asked.issuperset(text_units(token)):
            break
        end = row.response.index(token, end) + len(token)
    return row.response[:end].strip() or None
