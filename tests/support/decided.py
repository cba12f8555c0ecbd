"""Decisions on new events as workers commit them, and what people do in their conversations."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from uuid_utils.compat import uuid7

from db.answers.records import AnswerOutcome
from db.answers.sending import AnsweredMessage, NewAnswer
from db.history.conversation_owners import OwnerCause, Takeover
from tests.support.samples import event
from worker.adapters.system_clock import SystemClock
from worker.model import Decision, DecisionKind, Event
from worker.reasons import Reason

CLOCK = SystemClock()
NUMBERS = count(1)
HOUR = timedelta(hours=1)


def new_event(name: str = "event", at: datetime | None = None, **changes: Any) -> Event:
    """A message that arrived now, in a conversation of its own."""
    number, now = next(NUMBERS), at or CLOCK.now()
    values: dict[str, Any] = {
        "event_id": f"{name}-{number}",
        "entry_id": f"{number}-0",
        "conversation_id": f"{name}-{number}",
        "message_id": f"message-{number}",
        "created_at": now,
        "received_at": now,
    }
    return event(**values | changes)


def reply_to(asked: Event, at: datetime | None = None, **changes: Any) -> Decision:
    """An approved reply to an event."""
    now = at or CLOCK.now()
    values: dict[str, Any] = {
        "decision_id": CLOCK.new_id(now),
        "decided_at": now,
        "event": asked,
        "kind": DecisionKind.RESPOND,
        "reason_code": Reason.REPLIED,
        "reason": "every check passed",
        "confidence": 0.7,
        "rules_version": 1,
        "reply": "From nine to six.",
        "remember": True,
    }
    return Decision(**values | changes)


def silence_on(asked: Event, reason: Reason, at: datetime | None = None, **changes: Any) -> Decision:
    """A decision that sends nothing and is not remembered."""
    silent: dict[str, Any] = {
        "kind": DecisionKind.IGNORE,
        "reason_code": reason,
        "reply": None,
        "remember": False,
    }
    return reply_to(asked, at, **silent | changes)


def takeover(of: Event, **changes: Any) -> Takeover:
    """A colleague takes an event's conversation for an hour."""
    values: dict[str, Any] = {
        "user_id": of.user_id,
        "conversation_id": of.conversation_id,
        "people_until": CLOCK.now() + HOUR,
        "changed_by": "ann",
        "cause": OwnerCause.COMMAND,
    }
    return Takeover(**values | changes)


def answer_to(made: Decision, text: str | None, at: datetime, **changes: Any) -> NewAnswer:
    """A person answers a decision's message, or dismisses it without a text."""
    message = AnsweredMessage(
        decision_id=made.decision_id,
        decided_at=made.decided_at,
        user_id=made.event.user_id,
        conversation_id=made.event.conversation_id,
        message_id=made.event.message_id,
        scope=made.event.scope.value,
    )
    values: dict[str, Any] = {
        "answer_id": uuid7(),
        "message": message,
        "seen": None,
        "outcome": AnswerOutcome.DISMISSED if text is None else AnswerOutcome.WRITTEN,
        "text": text,
        "held": None,
        "person_id": None,
        "person": "kim",
        "release": False,
        "people_until": at + HOUR,
        "rules_version": 1,
        "checks": {},
    }
    return NewAnswer(**values | changes)
