"""Why messages got no reply, in the words of a shop owner, grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from db.answers.state import AnswerState
from db.figures.answers import answered_by_people
from db.rows import Row
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
    ReasonFamily.FEEDBACK: mark("Customers rated a reply"),
    ReasonFamily.SETTINGS: mark("Switched off or excluded by your settings"),
    ReasonFamily.TOO_LATE: mark("The message was too old"),
    ReasonFamily.MODERATION_FAILED: mark("Moderation gave no result"),
    ReasonFamily.MODEL_FAILED: mark("The AI model gave no usable answer"),
    ReasonFamily.ANSWERED: mark("Answered"),
}
"""Total; in display order."""
BUDGET: Final = mark("The budget was spent")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGroup:
    """Messages without a reply for reasons of one kind; ``reasons`` are code and number, most first."""

    title: str
    events: int
    reasons: tuple[tuple[str, int], ...]


CLOSED: Final = mark("A person closed it without an answer")


def held_groups(counts: Iterable[Row], answered: Iterable[Row] = ()) -> tuple[HeldGroup, ...]:
    """The groups of rows with ``reason_code`` and ``events``, without replies and unknown codes.

    ``answered`` are those that people answered or closed: of the latter there is a group of their own.
    """
    dealt_with = [row for row in answered if row["decision"] != DecisionKind.RESPOND]
    closed = sum(row["events"] for row in dealt_with if row["state"] == AnswerState.DISMISSED)
    by_title: dict[str, Counter[str]] = {title: Counter() for title in (*FAMILIES.values(), BUDGET)}
    for row in (*counts, *(row | {"events": -row["events"]} for row in dealt_with)):
        if row["reason_code"] not in Reason.__members__:
            continue
        spec = Reason(row["reason_code"]).spec
        if spec.decision is not DecisionKind.RESPOND:
            title = BUDGET if spec is Reason.BUDGET_SPENT.spec else FAMILIES[spec.family]
            by_title[title][row["reason_code"]] += row["events"]
    groups = [
        HeldGroup(title=title, events=left.total(), reasons=tuple(left.most_common()))
        for title, found in by_title.items()
        if (left := +found)
    ]
    return (*groups, HeldGroup(title=CLOSED, events=closed, reasons=())) if closed else tuple(groups)


def replies_counted(counts: Iterable[Row], answered: Iterable[Row]) -> int:
    """The number of messages with a reply of the AI, or an answer of a person, in figure rows."""
    replies: int = sum(row["events"] for row in counts if row["decision"] == DecisionKind.RESPOND)
    by_people = answered_by_people(answered)
    return replies + by_people.total() - by_people[DecisionKind.RESPOND]
