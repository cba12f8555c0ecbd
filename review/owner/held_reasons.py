"""Why messages got no reply, in the words of a shop owner, grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from review.languages import mark
from worker.model import DecisionKind
from worker.reasons import Reason, ReasonFamily

FAMILIES: Final[Mapping[ReasonFamily, str]] = {
    ReasonFamily.BLOCKED: mark("Stopped by your rules or by moderation"),
    ReasonFamily.NOT_TRUSTED: mark("The AI was not sure enough of its answer"),
    ReasonFamily.ESCALATED: mark("Handed to a person"),
    ReasonFamily.HELD: mark("Waits until a person approves it"),
    ReasonFamily.PEOPLE: mark("A person has the conversation"),
    ReasonFamily.CONVERSATION: mark("No answer was needed"),
    ReasonFamily.SETTINGS: mark("Switched off or excluded by your settings"),
    ReasonFamily.TOO_LATE: mark("The message was too old"),
    ReasonFamily.MODERATION_FAILED: mark("Moderation gave no result"),
    ReasonFamily.MODEL_FAILED: mark("The AI model gave no usable answer"),
    ReasonFamily.ANSWERED: mark("Answered"),
}
"""Total; in display order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGroup:
    """Messages without a reply for reasons of one family; ``reasons`` are code and number, most first."""

    title: str
    events: int
    reasons: tuple[tuple[str, int], ...]


def held_groups(counts: Iterable[Mapping[str, Any]]) -> tuple[HeldGroup, ...]:
    """The groups of rows with ``reason_code`` and ``events``, without replies and unknown codes."""
    by_family: dict[ReasonFamily, Counter[str]] = {family: Counter() for family in FAMILIES}
    for row in counts:
        if row["reason_code"] not in Reason.__members__:
            continue
        spec = Reason(row["reason_code"]).spec
        if spec.decision is not DecisionKind.RESPOND:
            by_family[spec.family][row["reason_code"]] += row["events"]
    return tuple(
        HeldGroup(title=FAMILIES[family], events=found.total(), reasons=tuple(found.most_common()))
        for family, found in by_family.items()
        if found.total()
    )


def replies_counted(counts: Iterable[Mapping[str, Any]]) -> int:
    """The number of replies in figure rows."""
    return sum(row["events"] for row in counts if row["decision"] == DecisionKind.RESPOND)
