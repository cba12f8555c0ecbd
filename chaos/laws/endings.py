"""The ending that each kind of event must have under every fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from chaos.laws.observations import EventKind, Observations

ENDINGS: Final[Mapping[EventKind, frozenset[str]]] = {
    EventKind.QUESTION: frozenset({"REPLIED"}),
    EventKind.DOUBTFUL: frozenset({"LOW_CONFIDENCE_ESCALATED"}),
    EventKind.SLOW: frozenset({"REPLIED", "LOW_CONFIDENCE_ESCALATED"}),
    EventKind.RULE: frozenset({"FLAGGED_RULE"}),
    EventKind.MODERATED: frozenset({"MODERATION_FLAGGED"}),
    EventKind.BAD_DRAFT: frozenset({"REPLY_MODERATION_FLAGGED"}),
    EventKind.HANDOFF: frozenset({"MODEL_ESCALATED"}),
    EventKind.AGENT: frozenset({"AGENT_MESSAGE"}),
    EventKind.OLD: frozenset({"TOO_LATE"}),
    EventKind.OFF: frozenset({"AI_DISABLED"}),
    EventKind.AFTER_TAKEOVER: frozenset({"OWNED_BY_PEOPLE", "TAKEN_OVER"}),
}
"""Reason codes of an undisturbed run."""
PEOPLE: Final = frozenset({"OWNED_BY_PEOPLE", "TAKEN_OVER"})
"""Endings of a message to the AI while people have its conversation."""
TO_PEOPLE: Final = frozenset(
    {EventKind.QUESTION, EventKind.DOUBTFUL, EventKind.SLOW, EventKind.HANDOFF, EventKind.OLD}
)
FAILURES: Final = frozenset(
    {"LLM_ERROR", "MODERATION_UNAVAILABLE", "REPLY_MODERATION_UNAVAILABLE", "HELD_UNREAD"}
)
"""Endings while the models, the judge of drafts among them, or moderation do not answer."""
NEED_MODELS: Final = frozenset({*TO_PEOPLE, EventKind.MODERATED, EventKind.BAD_DRAFT} - {EventKind.OLD})
MOST_FAILED: Final = 0.1
"""Share of the events that need models; 0.4 % are usual in a long run, more in a short one."""
FEW: Final = 12
"""What one storm may cause in a run that is too short for the share: it was 3 to 11 of 34 to 54 events that
need models, in eight runs of 50 or 100 events with one storm of 4 s each."""
CALLS_PEOPLE: Final = frozenset({EventKind.DOUBTFUL, EventKind.SLOW, EventKind.HANDOFF, EventKind.AGENT})


def wrong_endings(seen: Observations) -> Iterator[str]:
    """Decisions that differ from the ending of their kind, and failures of models where they are too many."""
    called, needing, failed = called_conversations(seen), 0, 0
    for row in seen.decisions:
        event = seen.published.get(row.name)
        if event is None or event.kind is EventKind.MALFORMED:
            continue
        needing += event.kind in NEED_MODELS
        if row.reason in ENDINGS[event.kind]:
            continue
        if row.reason in PEOPLE and event.kind in TO_PEOPLE and event.conversation in called:
            continue
        if row.reason in FAILURES and event.kind in NEED_MODELS:
            failed += 1
            continue
        yield f"{event.kind}: {row.name} ended as {row.decision}, {row.reason}"
    if failed > max(FEW, MOST_FAILED * needing):
        yield f"{failed} of {needing} events ended as failures of the models"


def called_conversations(seen: Observations) -> set[str]:
    """Conversations into which the run called people: by a message that the AI hands over, or in person."""
    called = {each.conversation for each in seen.published.values() if each.kind in CALLS_PEOPLE}
    return called | set(seen.taken)
