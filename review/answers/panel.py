"""What a decision's page shows of held drafts and answers, and the form for a new answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

from db.answers.answering import Answering
from db.answers.held import HeldText, HeldTexts
from db.answers.records import Answer
from db.answers.waiting import Since
from db.audit.decision_context import DecisionRow
from review.access import Right
from review.answers.answerable import (
    ANSWER_CHARS,
    is_answerable,
    is_correctable,
    is_left_to_people,
    standing_answer,
)
from review.http.visit import Visit
from review.languages import gettext, mark
from worker.assessment.values import ReplyKind
from worker.reasons import HELD

MOVED_ON: Final = {
    Since.DELETED: mark("The author deleted the message. It cannot be answered any more."),
    Since.PEOPLE_ANSWERED: mark("A person has written in the conversation since."),
    Since.AI_ANSWERED: mark("The AI has answered a newer message of the conversation since."),
    Since.EDITED: mark("The author has edited the message since."),
    Since.NEWER_MESSAGE: mark("The author has written again since."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPanel:
    """Everything the partial ``decision/_answer.html`` shows.

    Attributes:
        held: texts of the AI that were not sent; without the texts for people who may not read them.
        answers: people's answers, oldest first; without the drafts beside them as above.
        moved_on: what happened in the conversation since, as a sentence; empty: nothing.
        may_answer: the person may answer now.
        expired: the reply waited for approval longer than the message may be old.
        refuses: the draft only says that it has no answer: it is not approved in one step.
        answerable: the AI left the message to people, whatever others did; the person has the right.
        correctable: the person could answer after an overturn.
        waits: the AI left the message to people, and no answer stands.
        blind: the person holds the decision in a queue: texts of the AI, nothing of others.
        answer_id: of the form; the same form is stored once.
        seen: the newest answer, as the form sends it back.
        typed: what the person wrote, when it was not sent; ``problem`` says why.
    """

    held: HeldTexts
    answers: tuple[Answer, ...]
    moved_on: str
    may_answer: bool
    may_read: bool
    expired: bool
    refuses: bool
    answerable: bool
    correctable: bool
    waits: bool
    blind: bool
    answer_id: UUID
    seen: str
    typed: str = ""
    problem: str = ""
    chars: int = ANSWER_CHARS

    @property
    def standing(self) -> Answer | None:
        """The answer that the message has."""
        return standing_answer(self.answers)

    @property
    def earlier(self) -> tuple[Answer, ...]:
        """Answers before the standing one, which the page shows below the message."""
        return tuple(each for each in self.answers if each != self.standing)

    @property
    def texts(self) -> tuple[HeldText, ...]:
        """The texts of the AI, without a text that was sent unchanged."""
        sent = self.standing.text if self.standing else None
        return tuple(each for each in self.held.texts if each.text != sent)

    @property
    def shown(self) -> bool:
        """Whether there is anything to show."""
        sealed = self.held.count and not self.may_read
        return bool(sealed or self.texts or self.earlier or self.moved_on or self.may_answer or self.problem)


def answer_panel(visit: Visit, row: DecisionRow, found: Answering, *, blind: bool = False) -> AnswerPanel:
    """The panel of what was read; ``blind``: for a person who holds the decision in a queue."""
    may_review = visit.may(Right.REVIEW, row["user_id"])
    answers, since = ((), None) if blind else (found.answers, found.since)
    if not may_review:  # a draft that was not sent, as those of ``held``
        answers = tuple(replace(each, draft=None) for each in answers)
    standing = standing_answer(answers)
    is_open = is_answerable(row) and (standing is None or standing.dismissed)
    late = row["reason_code"] in HELD and any(each.too_late(visit.now) for each in found.held.texts)
    return AnswerPanel(
        held=found.held,
        answers=answers,
        moved_on=gettext(MOVED_ON[since]) if since else "",
        may_answer=is_open and since is not Since.DELETED and may_review and not blind,
        may_read=may_review,
        expired=late and not blind,
        refuses=row["rejection_reason"] == ReplyKind.REFUSAL,
        answerable=is_left_to_people(row) and may_review,
        correctable=not is_left_to_people(row) and is_correctable(row) and standing is None and may_review,
        waits=is_left_to_people(row) and standing is None,
        blind=blind,
        answer_id=uuid7(),
        seen=str(answers[-1].answer_id) if answers else "",
    )
