"""What people said of decisions: the words of a review, and reading what was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from worker.errors import RejectedError
from worker.model import Verdict

UNDO_WINDOW: Final = timedelta(seconds=60)
"""How long a person may take a review back; a retraction waits as long before it leaves."""
NOTE_CHARS: Final = 4000


class Ruling(StrEnum):
    """A person's verdict on a decision; stored in ``decision_reviews.verdict``."""

    AGREE = "agree"
    OVERTURN = "overturn"
    UNSURE = "unsure"
    WITHDRAWN = "withdrawn"


GIVEN: Final = (Ruling.AGREE, Ruling.OVERTURN, Ruling.UNSURE)
"""What a person may say; ``withdrawn`` is written by an undo or by a later review of the same person."""


class Cause(StrEnum):
    """Why a person ruled so; stored, never renamed."""

    RULE_TOO_BROAD = "RULE_TOO_BROAD"
    RULE_MISSED = "RULE_MISSED"
    MODERATION_TOO_STRICT = "MODERATION_TOO_STRICT"
    MODERATION_MISSED = "MODERATION_MISSED"
    CONTEXT_MATTERS = "CONTEXT_MATTERS"
    WRONG_FACTS = "WRONG_FACTS"
    MISSING_KNOWLEDGE = "MISSING_KNOWLEDGE"
    OFF_TOPIC = "OFF_TOPIC"
    BAD_TONE = "BAD_TONE"
    SHOULD_ANSWER = "SHOULD_ANSWER"
    SHOULD_ESCALATE = "SHOULD_ESCALATE"
    POLICY_CHANGED = "POLICY_CHANGED"
    CORRECT = "CORRECT"
    OTHER = "OTHER"


CAUSES: Final[dict[Cause, str]] = {
    Cause.RULE_TOO_BROAD: "a rule matched what it should not",
    Cause.RULE_MISSED: "a rule should have matched and did not",
    Cause.MODERATION_TOO_STRICT: "the moderation model flagged what is harmless",
    Cause.MODERATION_MISSED: "the moderation model missed what is harmful",
    Cause.CONTEXT_MATTERS: "the conversation around it changes what it means",
    Cause.WRONG_FACTS: "the reply says what is not so",
    Cause.MISSING_KNOWLEDGE: "the documents do not hold the answer",
    Cause.OFF_TOPIC: "the reply does not answer what was asked",
    Cause.BAD_TONE: "the reply is right, but not put like that",
    Cause.SHOULD_ANSWER: "it could have been answered",
    Cause.SHOULD_ESCALATE: "a person should have had it",
    Cause.POLICY_CHANGED: "right then, wrong by today's rules",
    Cause.CORRECT: "the decision is right as it is",
    Cause.OTHER: "something else; the note says what",
}


class Remedy(StrEnum):
    """What a person asks to be done beside the review."""

    NONE = "none"
    RESTORE = "restore"
    RESTORE_MESSAGE = "restore_message"
    REMOVE = "remove"


class Effect(StrEnum):
    """What a review did to the stored history."""

    NONE = "none"
    RESTORED = "restored"
    REMOVED = "removed"


class Source(StrEnum):
    """Where a review came from."""

    PAGE = "page"
    QUEUE = "queue"
    BLIND = "blind"
    GOLDEN = "golden"
    BULK = "bulk"
    CLI = "cli"


class ReviewRejected(RejectedError):  # noqa: N818
    """A review cannot be stored as it is; the message names field, expectation and what came."""


class DecisionGone(ReviewRejected):
    """There is no such decision, or it was erased meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """Who rules. ``person_id`` is None on the command line, where ``login`` is the machine's."""

    person_id: UUID | None
    login: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One appended review.

    Attributes:
        person: login at that time.
        withdraws: the review it takes back; only of ``withdrawn`` ones.
        standing: True while nothing took it back and it takes nothing back itself.
    """

    id: UUID
    decision_id: UUID
    user_id: str
    person_id: UUID | None
    person: str
    verdict: Ruling
    corrected_decision: Verdict | None
    reason_code: str
    note: str
    effect: Effect
    sealed_until: datetime | None
    source: Source
    item_id: int | None
    job_id: UUID | None
    withdraws: UUID | None
    created_at: datetime
    standing: bool

    def undo_until(self) -> datetime:
        """The last moment at which its author may take it back."""
        return self.created_at + UNDO_WINDOW

    def is_by(self, reviewer: Reviewer) -> bool:
        """True when this person wrote it; a command line is known by its login alone."""
        if reviewer.person_id is not None or self.person_id is not None:
            return self.person_id == reviewer.person_id
        return self.person == reviewer.login


READ: Final = """
    SELECT r.id, r.decision_id, r.user_id, r.person_id, r.person, r.verdict, r.corrected_decision,
           r.reason_code, r.note, r.effect, r.sealed_until, r.source, r.item_id, r.job_id, r.withdraws,
           r.created_at,
           r.verdict <> 'withdrawn' AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
               AS standing
    FROM decision_reviews r
"""
OF_DECISION: Final = sa.text(
    f"{READ} WHERE r.decision_id = :decision ORDER BY r.created_at, r.withdraws IS NULL, r.id"
)
ONE: Final = sa.text(f"{READ} WHERE r.id = :review")
RECENT: Final = sa.text(f"""
    {READ} WHERE r.person_id = :person AND r.created_at >= :since AND r.verdict <> 'withdrawn'
        AND r.source IN ('page', 'queue', 'blind')
        AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
    ORDER BY r.created_at DESC LIMIT 1
""")
LAST: Final = sa.text("SELECT last_review FROM review_states WHERE decision_id = :decision")


async def of_decision(connection: AsyncConnection, decision_id: UUID) -> tuple[Review, ...]:
    """Everything ever said of a decision, oldest first, withdrawn reviews included."""
    rows = await connection.execute(OF_DECISION, {"decision": decision_id})
    return tuple(review(row) for row in rows.mappings())


async def one(connection: AsyncConnection, review_id: UUID) -> Review | None:
    """A review by its id."""
    row = (await connection.execute(ONE, {"review": review_id})).mappings().first()
    return review(row) if row else None


async def undoable(connection: AsyncConnection, person_id: UUID, now: datetime) -> Review | None:
    """The newest review that a person may still take back, or None."""
    values = {"person": person_id, "since": now - UNDO_WINDOW}
    row = (await connection.execute(RECENT, values)).mappings().first()
    return review(row) if row else None


async def last_seen(connection: AsyncConnection, decision_id: UUID) -> UUID | None:
    """What a page must send back so that a stale submit is noticed: the newest review, or None."""
    last: UUID | None = (await connection.execute(LAST, {"decision": decision_id})).scalar()
    return last


def state(reviews: Sequence[Review]) -> str:
    """Where a decision stands: agree, overturn, unsure, disputed, or open when no review stands.

    Golden answers test a reader, so they do not count; an unsure reading does not outweigh a sure one.
    """
    said = {each.verdict for each in counted(reviews)}
    sure = said - {Ruling.UNSURE}
    if len(sure) > 1:
        return "disputed"
    return str(next(iter(sure or said), "open"))


def counted(reviews: Sequence[Review]) -> tuple[Review, ...]:
    """The reviews that make a decision's state."""
    return tuple(each for each in reviews if each.standing and each.source is not Source.GOLDEN)


def review(row: Any) -> Review:  # noqa: ANN401  # a row mapping
    """A row of ``READ`` as a value."""
    corrected = row["corrected_decision"]
    words = {
        "verdict": Ruling(row["verdict"]),
        "corrected_decision": Verdict(corrected) if corrected else None,
        "effect": Effect(row["effect"]),
        "source": Source(row["source"]),
    }
    return Review(**{**row, **words})
