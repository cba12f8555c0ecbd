"""The reply of a decision that was made again, sent once, if its message still waits for one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID, uuid5

from db.access_log import LogEntry
from db.answers.held import HeldText
from db.answers.records import AnswerOutcome
from db.answers.sending import (
    AnswerConflict,
    AnsweredMessage,
    ConversationMovedOn,
    MessageFlagged,
    MessageGone,
    NewAnswer,
    store_answer,
)
from db.candidates.replaying import ReplayedDecision
from db.pool import Pool
from worker.assessment.policies.reply_metadata import text_metadata
from worker.model import Decision, HeldKind
from worker.replay.difference import DifferenceKind

NAMESPACE: Final = UUID("6f2c5a6e-3c8f-5d0f-9a2e-5b1c0d7e4a11")
"""Of the ids of answers that replays send: one for each decision."""


class Delivery(StrEnum):
    """What became of the reply of a replay.

    Attributes:
        SENT: it is in the outbox.
        SENT_BEFORE: an earlier run sent it.
        NOT_RELEASED: the decision had a reply, or still has none.
        TOO_LATE: the message is older than the account answers.
        ANSWERED: a person answered.
        MOVED_ON: people own the conversation, or it has newer messages.
        DELETED: the author deleted the message.
        FLAGGED: the author's edit was flagged.
    """

    SENT = "sent"
    SENT_BEFORE = "sent_before"
    NOT_RELEASED = "not_released"
    TOO_LATE = "too_late"
    ANSWERED = "answered"
    MOVED_ON = "moved_on"
    DELETED = "deleted"
    FLAGGED = "flagged"


REFUSED: Final[Mapping[type[Exception], Delivery]] = {
    AnswerConflict: Delivery.ANSWERED,
    ConversationMovedOn: Delivery.MOVED_ON,
    MessageGone: Delivery.DELETED,
    MessageFlagged: Delivery.FLAGGED,
}


def is_released(made: ReplayedDecision) -> bool:
    """Whether a reply would go out that did not."""
    return made.difference is not None and made.difference.kind is DifferenceKind.NEWLY_RELEASED


async def deliver_replayed(
    source: Pool, made: ReplayedDecision, now: datetime, *, sent_by: str, logged: LogEntry
) -> Delivery:
    """Store the reply as an answer that a person approved unchanged; safe to repeat.

    Raises:
        StorageUnavailable: the outcome is unknown.
    """
    decision = made.replay.decision if made.replay else None
    if not is_released(made) or decision is None or decision.reply is None:
        return Delivery.NOT_RELEASED
    if decision.send_before is not None and decision.send_before < now:
        return Delivery.TOO_LATE
    try:
        stored = await store_answer(source, _answer(made, decision, now, sent_by), now, logged=logged)
    except tuple(REFUSED) as refused:
        return REFUSED[type(refused)]
    return Delivery.SENT if stored else Delivery.SENT_BEFORE


def _answer(made: ReplayedDecision, decision: Decision, now: datetime, sent_by: str) -> NewAnswer:
    event = decision.event
    return NewAnswer(
        answer_id=uuid5(NAMESPACE, str(made.stored.decision_id)),
        message=AnsweredMessage(
            decision_id=made.stored.decision_id,
            decided_at=made.stored.created_at,
            user_id=event.user_id,
            conversation_id=event.conversation_id,
            message_id=event.message_id,
            scope=event.scope.value,
        ),
        seen=None,
        outcome=AnswerOutcome.UNCHANGED,
        text=decision.reply,
        held=_held(decision, now),
        person_id=None,
        person=sent_by,
        release=False,
        people_until=now,
        rules_version=decision.rules_version,
        checks=_checks(made),
        disclosure=decision.disclosure,
        only_if_last=True,
    )


def _held(decision: Decision, now: datetime) -> HeldText:
    model = decision.models.get("completion") if decision.draft is not None else None
    return HeldText(
        held_id=None,
        kind=HeldKind.REPLY,
        text=decision.reply or "",
        draft=decision.draft,
        sources=[each.shape() for each in decision.sources],
        passages=[],
        confidence=decision.confidence,
        tier=None,
        metadata=text_metadata(decision.assessment, model),
        send_before=decision.send_before,
        created_at=now,
        expires_at=now,
    )


def _checks(made: ReplayedDecision) -> dict[str, Any]:
    return {"replayed": True, "why": made.difference.why if made.difference else ""}
