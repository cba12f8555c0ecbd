"""What other thresholds would have done to the replies of the last seven days."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

KEPT_FROM: Final = 0.5
"""Scores from here on are always stored; of lower ones the three highest, see ``worker.moderation``.

A classifier's scores have a colon in their name and say nothing about those of the moderation API.
"""
KEPT_LOWER: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The effect of a threshold on stored replies.

    Attributes:
        replies: the replies that were looked at.
        stopped: replies that would not have been sent without a person.
        unknown: replies of which the measure was not stored.
    """

    replies: int
    stopped: int
    unknown: int


def with_confidence(rows: Iterable[Mapping[str, Any]], threshold: float) -> WhatIf:
    """The replies with less measured confidence; one that was not measured is unknown."""
    found = [row["confidence"] if row["measured"] else None for row in rows]
    return _counted([None if each is None else each < threshold for each in found])


def with_category(rows: Iterable[Mapping[str, Any]], category: str, threshold: float) -> WhatIf:
    """The replies to messages whose score of a category reaches a threshold."""
    return _counted([_reaches(row["scores"], category, threshold) for row in rows])


def _reaches(scores: object, category: str, threshold: float) -> bool | None:
    if not isinstance(scores, dict):
        return None
    numbers = {name: _score(each) for name, each in scores.items()}
    known = {name: score for name, score in numbers.items() if score is not None}
    if category in known:
        return known[category] >= threshold
    highest = sorted((known[name] for name in known if ":" not in name), reverse=True)
    is_above_rest = len(highest) >= KEPT_LOWER and threshold > highest[KEPT_LOWER - 1]
    return False if threshold >= KEPT_FROM or is_above_rest else None


def _score(stored: object) -> float | None:
    value = stored.get("score") if isinstance(stored, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _counted(results: list[bool | None]) -> WhatIf:
    return WhatIf(replies=len(results), stopped=results.count(True), unknown=results.count(None))
