"""Which decisions a person may answer, and what a person's text must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from db.answers.held import HeldText
from db.answers.records import Answer, AnswerOutcome
from db.audit.decision_context import DecisionRow
from db.reviews.rulings import Ruling
from review.languages import gettext as _
from worker.errors import RejectedError
from worker.model import DecisionKind, EventType
from worker.reasons import Reason, ReasonFamily, reasons_of

ANSWER_CHARS: Final = 10_000
ANSWERABLE: Final = frozenset(
    {
        *reasons_of(
            ReasonFamily.ESCALATED,
            ReasonFamily.NOT_TRUSTED,
            ReasonFamily.MODEL_FAILED,
            ReasonFamily.MODERATION_FAILED,
            ReasonFamily.TOO_LATE,
            ReasonFamily.HELD,
        ),
        Reason.OWNED_BY_PEOPLE,
        Reason.TAKEN_OVER,
        Reason.FALLBACK_SENT,
    }
)
"""Reasons of messages that the AI left without an answer of its own."""
CORRECTABLE: Final = frozenset(reasons_of(ReasonFamily.ANSWERED, ReasonFamily.BLOCKED))
"""Reasons of messages that a person may answer after an overturn."""


class AnswerAction(StrEnum):
    """What a person does with a message that waits."""

    APPROVE = "approve"
    EDIT = "edit"
    WRITE = "write"
    DISMISS = "dismiss"


class AnswerRejected(RejectedError):
    """The answer cannot be used; the message names field, expectation and value."""


class DraftTooOld(RejectedError):
    """The draft no longer exists, or is too old to be approved as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer as a form or a program gives it.

    Attributes:
        held_id: the text of the AI that is approved or edited.
        text: of a person, for ``edit`` and ``write``.
        seen: the newest answer on the person's page.
        answer_id: made with the form; the same one is stored once.
    """

    action: AnswerAction
    answer_id: UUID
    held_id: int | None = None
    text: str = ""
    seen: UUID | None = None
    release: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAnswer:
    """What is sent, and what became of the AI's text; ``text`` is None when nothing is sent."""

    outcome: AnswerOutcome
    text: str | None
    held: HeldText | None


def is_left_to_people(row: DecisionRow) -> bool:
    """Whether the AI left the message of a decision, a row of the audit, without an answer of its own."""
    return row["decision"] == DecisionKind.ESCALATE or row["reason_code"] in ANSWERABLE


def is_answerable(row: DecisionRow) -> bool:
    """Whether a person may answer the message: the AI left it to people, or its decision was overturned."""
    return is_left_to_people(row) or (row.get("review_state") == Ruling.OVERTURN and is_correctable(row))


def is_correctable(row: DecisionRow) -> bool:
    """Whether a person may answer the message after an overturn; a check sends nothing."""
    is_message = row["snapshot_json"].get("type", EventType.MESSAGE) == EventType.MESSAGE
    return is_message and row["reason_code"] in CORRECTABLE


def standing_answer(answers: Sequence[Answer]) -> Answer | None:
    """The standing answer to a message; None while the message waits, and after the answer was taken back."""
    return answers[-1] if answers and answers[-1].stands else None


def resolve(
    given: GivenAnswer, held: Sequence[HeldText], *, approvable: Sequence[HeldText]
) -> ResolvedAnswer:
    """What a given answer means with these texts of the AI; those not ``approvable`` are too old.

    Raises:
        AnswerRejected: a field is missing or invalid.
        DraftTooOld: the text of the AI is gone, or too old to be approved.
    """
    if given.action is AnswerAction.DISMISS:
        return ResolvedAnswer(outcome=AnswerOutcome.DISMISSED, text=None, held=held[0] if held else None)
    if given.action is AnswerAction.WRITE:
        return _written(_checked_text(given.text), held)
    chosen = next((each for each in held if each.held_id == given.held_id), None)
    if chosen is None:
        raise DraftTooOld(_("The draft was deleted. Write an answer."))
    if given.action is AnswerAction.EDIT and (text := _checked_text(given.text)) != chosen.text:
        return ResolvedAnswer(outcome=AnswerOutcome.EDITED, text=text, held=chosen)
    if chosen not in approvable:
        raise DraftTooOld(
            _("The message is too old for the draft as it is. Change the draft, or write an answer.")
        )
    return ResolvedAnswer(outcome=AnswerOutcome.UNCHANGED, text=chosen.text, held=chosen)


def _written(text: str, held: Sequence[HeldText]) -> ResolvedAnswer:
    """An answer without a chosen draft; a copy of the AI's text counts as that."""
    copied = next((each for each in held if each.text == text), None)
    if copied is not None:
        return ResolvedAnswer(outcome=AnswerOutcome.UNCHANGED, text=text, held=copied)
    outcome = AnswerOutcome.REPLACED if held else AnswerOutcome.WRITTEN
    return ResolvedAnswer(outcome=outcome, text=text, held=held[0] if held else None)


def _checked_text(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise AnswerRejected(_("Write the text to send."))
    if len(text) > ANSWER_CHARS:
        problem = _("Write at most %(most)s characters, not %(got)s.")
        raise AnswerRejected(problem % {"most": ANSWER_CHARS, "got": len(text)})
    if any(each == "\0" or "\ud800" <= each <= "\udfff" for each in text):
        problem = _("The text has a character that cannot be stored (U+0000, or half of a pair). Remove it.")
        raise AnswerRejected(problem)
    return text
