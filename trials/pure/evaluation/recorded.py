"""Items from stored decisions: what a recording holds, and the label that reviews give."""

from __future__ import annotations

from typing import Final

from trials.pure.evaluation.items import Expected, GoldenContent, GoldenLabel
from trials.pure.replay.difference import ReplayOutcome
from worker.model import DecisionKind, EventType, Message, Passage
from worker.reasons import Reason, ReasonFamily
from worker.recordings.recording import Port, RecordedOutcome, Recording

BY_STATE: Final = frozenset(
    {
        ReasonFamily.SETTINGS,
        ReasonFamily.TOO_LATE,
        ReasonFamily.MODERATION_FAILED,
        ReasonFamily.MODEL_FAILED,
        ReasonFamily.PEOPLE,
        ReasonFamily.CONVERSATION,
        ReasonFamily.FEEDBACK,
    }
)
"""Families of decisions that ended for what is not in the message: an evaluation cannot repeat that."""


def recorded_content(recording: Recording, *, reply: str | None = None) -> GoldenContent | None:
    """What a recording holds of its message; None for an event that the AI never answers.

    The passages are those that its searches found, the first search first. Without a search they are None.
    """
    if recording.event.type is not EventType.MESSAGE:
        return None
    found: dict[str, Passage] = {}
    searched, history = False, tuple[Message, ...]()
    for answer in recording.answers:
        if answer.outcome is not RecordedOutcome.VALUE:
            continue
        if answer.port == Port.HISTORY:
            history = history or tuple(answer.value)
        elif answer.port == Port.SEARCH:
            searched = True
            for passage in answer.value:
                found.setdefault(passage.passage_id, passage)
    return GoldenContent(
        event=recording.event,
        history=history,
        passages=tuple(found.values()) if searched else None,
        reply=reply,
    )


def ruled_label(
    ruling: str, corrected: str | None, outcome: ReplayOutcome, labelled_by: str
) -> GoldenLabel | None:
    """The label of a decision that people agreed about; None for an ending that an evaluation cannot repeat.

    A ruling ``agree`` keeps what was decided, with its reason where it was silent. An overturned decision has
    the corrected one, and without a correction the opposite. Escalated messages are silent: no AI answers.
    """
    if corrected is not None and ruling == "overturn":
        answer = corrected == DecisionKind.RESPOND
        return GoldenLabel(expected=_expected(answer), labelled_by=labelled_by)
    if Reason(outcome.reason_code).spec.family in BY_STATE:
        return None
    if ruling == "overturn":
        return GoldenLabel(expected=_expected(not outcome.answers), labelled_by=labelled_by)
    reason = None if outcome.answers else outcome.reason_code
    return GoldenLabel(expected=_expected(outcome.answers), reason=reason, labelled_by=labelled_by)


def _expected(answer: bool) -> Expected:
    return Expected.ANSWER if answer else Expected.SILENT
