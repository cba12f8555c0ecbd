"""People's answers as they are stored, with the delivery of their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from db.connection import Connection
from db.rows import first_value, rows_as

EVENT_PREFIX: Final = "person:"
"""An answer's event id in the outbox is this and the answer's id."""
OF_DECISION: Final = f"""
    SELECT a.id AS answer_id, a.decision_id, a.outcome, a.text, a.draft, a.person_id, a.person, a.released,
           a.rules_version, a.checks, a.created_at, o.delivered_at, o.cancelled_at, o.cancel_reason,
           r.created_at AS retracted_at
    FROM answers a
    LEFT JOIN outbox o ON o.user_id = a.user_id AND o.event_id = '{EVENT_PREFIX}' || a.id
    LEFT JOIN LATERAL (SELECT created_at FROM retractions
                       WHERE decision_id = a.id AND cancelled_at IS NULL ORDER BY id DESC LIMIT 1) r ON true
    WHERE a.decision_id = %(decision_id)s ORDER BY a.created_at, a.id
"""
ANSWERED: Final = "SELECT decision_id FROM answers WHERE id = %s"


class AnswerOutcome(StrEnum):
    """What became of the AI's text; stored.

    Attributes:
        UNCHANGED: the draft was sent unchanged.
        EDITED: the draft was sent with changes.
        REPLACED: the person wrote another text.
        WRITTEN: there was no text of the AI; the person wrote one.
        DISMISSED: nothing was sent; the message needs no answer.
    """

    UNCHANGED = "unchanged"
    EDITED = "edited"
    REPLACED = "replaced"
    WRITTEN = "written"
    DISMISSED = "dismissed"


OF_THE_MODEL: Final = (AnswerOutcome.UNCHANGED, AnswerOutcome.EDITED)
"""Outcomes whose text is the AI's, or comes from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A stored answer with its delivery.

    Attributes:
        decision_id: of the AI's decision.
        text: as sent; None when it was dismissed.
        draft: the text of the AI that the person was shown, None without one.
        person: login at that time.
        released: the conversation was given back to the AI with it.
        checks: moderation of the text.
        delivered_at: when it was put on the reply stream; ``cancelled_at`` likewise.
        retracted_at: when a reviewer took it back after delivery.
    """

    answer_id: UUID
    decision_id: UUID
    outcome: AnswerOutcome
    text: str | None
    draft: str | None
    person_id: UUID | None
    person: str
    released: bool
    rules_version: int
    checks: Mapping[str, Any]
    created_at: datetime
    delivered_at: datetime | None
    cancelled_at: datetime | None
    cancel_reason: str | None
    retracted_at: datetime | None

    @property
    def stands(self) -> bool:
        """Whether the message has this answer, or none is needed."""
        return self.cancelled_at is None and self.retracted_at is None

    @property
    def dismissed(self) -> bool:
        """Whether the message was closed without an answer; it may still be answered."""
        return self.text is None


async def list_answers(connection: Connection, decision_id: UUID) -> tuple[Answer, ...]:
    """The answers of people to a decision, oldest first."""
    return await rows_as(connection, Answer, OF_DECISION, {"decision_id": decision_id})


async def answered_decision(connection: Connection, answer_id: UUID) -> UUID | None:
    """The decision that an answer belongs to; None without such an answer."""
    found: UUID | None = await first_value(connection, ANSWERED, (answer_id,))
    return found
