"""Replies that change over weeks: refusals, hedges and length, the newest weeks against those before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from trials.pure.suggestions.model import LearningSuggestion, SettingEdit, SuggestionKind
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.statistics.differences import (
    Estimate,
    Moments,
    mean_difference,
    moments,
    share_difference,
)
from worker.statistics.shares import wilson

NEW_WEEKS: Final = 2
LEAST_EACH: Final = 50
"""Least replies, or decisions of the model, before and after."""
LEAST_SHARE: Final = 0.05
LEAST_LENGTH: Final = 0.2
"""Least changes that are suggested: of a share, and of the length as a part of it."""


class DriftMeasure(StrEnum):
    """What is measured; stored, never renamed."""

    REFUSALS = "refusals"
    HEDGES = "hedges"
    LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyWeek:
    """A week of an account, the oldest one has the lowest ``number``.

    Attributes:
        replies: texts of replies, a part of all.
        answered: decisions for which the model wrote a draft or refused.
        refused: replies in which the model refused or had no answer.
    """

    number: int
    replies: tuple[str, ...]
    answered: int
    refused: int


def drift_suggestions(
    weeks: Sequence[ReplyWeek], earlier_prompt: str | None
) -> tuple[LearningSuggestion, ...]:
    """The measures that changed beyond chance and by an amount that matters.

    Args:
        weeks: all of the same length; the newest ``NEW_WEEKS`` are compared with the others.
        earlier_prompt: the prompt before the newest weeks, where another one is in force.
    """
    ordered = sorted(weeks, key=lambda each: each.number)
    before, after = ordered[:-NEW_WEEKS], ordered[-NEW_WEEKS:]
    found = (
        _share(DriftMeasure.REFUSALS, _refusals(before), _refusals(after)),
        _share(DriftMeasure.HEDGES, _hedges(before), _hedges(after)),
        _length(before, after),
    )
    edits = () if earlier_prompt is None else (SettingEdit(setting="prompt", value=earlier_prompt),)
    return tuple(
        LearningSuggestion(
            kind=SuggestionKind.PROMPT,
            key=evidence["measure"],
            evidence=evidence | {"weeks": [_week(evidence["measure"], each) for each in ordered]},
            edits=edits,
        )
        for evidence in found
        if evidence is not None
    )


def is_hedged(text: str) -> bool:
    """Whether a reply has a hedging phrase of the assessment's list."""
    return list_pattern("hedges").search(folded_text(text)) is not None


def _share(measure: DriftMeasure, before: tuple[int, int], after: tuple[int, int]) -> dict[str, Any] | None:
    old, new = wilson(*before), wilson(*after)
    if old is None or new is None or min(old.total, new.total) < LEAST_EACH:
        return None
    change = share_difference(old, new)
    if not change.differs or abs(change.value) < LEAST_SHARE:
        return None
    return _evidence(measure, (old.share, old.total), (new.share, new.total), change)


def _length(before: Sequence[ReplyWeek], after: Sequence[ReplyWeek]) -> dict[str, Any] | None:
    old, new = _lengths(before), _lengths(after)
    if min(old.number, new.number) < LEAST_EACH:
        return None
    change = mean_difference(old, new)
    if not change.differs or abs(change.value) < LEAST_LENGTH * old.mean:
        return None
    return _evidence(DriftMeasure.LENGTH, (old.mean, old.number), (new.mean, new.number), change)


def _evidence(
    measure: DriftMeasure, old: tuple[float, int], new: tuple[float, int], change: Estimate
) -> dict[str, Any]:
    """``old`` and ``new``: the measure, and of how many."""
    return {
        "measure": measure.value,
        "before": old[0],
        "after": new[0],
        "change": change.value,
        "low": change.low,
        "high": change.high,
        "of_before": old[1],
        "of_after": new[1],
    }


def _week(measure: str, week: ReplyWeek) -> float | None:
    """The measure of one week; None without replies."""
    if measure == DriftMeasure.LENGTH:
        return _lengths([week]).mean if week.replies else None
    hits, total = _refusals([week]) if measure == DriftMeasure.REFUSALS else _hedges([week])
    return hits / total if total else None


def _refusals(weeks: Iterable[ReplyWeek]) -> tuple[int, int]:
    held = tuple(weeks)
    return sum(each.refused for each in held), sum(each.answered for each in held)


def _hedges(weeks: Iterable[ReplyWeek]) -> tuple[int, int]:
    texts = [text for each in weeks for text in each.replies]
    return sum(map(is_hedged, texts)), len(texts)


def _lengths(weeks: Iterable[ReplyWeek]) -> Moments:
    return moments([len(text) for each in weeks for text in each.replies])
