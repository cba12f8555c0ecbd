"""Reviews of decisions: their closed sets, and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Self
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.rows import all_rows, from_row, row_as, rows_as
from worker.errors import RejectedError
from worker.model import DecisionKind

UNDO_WINDOW: Final = timedelta(seconds=60)
"""How long a person may withdraw a review, and how long a retraction waits before it is sent."""
NOTE_CHARS: Final = 4000


class Ruling(StrEnum):
    """A reviewer's answer to a decision; stored in ``decision_reviews.ruling``."""

    AGREE = "agree"
    OVERTURN = "overturn"
    UNSURE = "unsure"
    WITHDRAWN = "withdrawn"


RULINGS: Final = (Ruling.AGREE, Ruling.OVERTURN, Ruling.UNSURE)
"""Rulings a person may give; ``withdrawn`` is written by an undo or by a later review of the same person."""


class RulingReason(StrEnum):
    """The reason of a ruling with its label; stored, never renamed."""

    label: str

    def __new__(cls, code: str, label: str = "") -> Self:
        """A reason with its stored code."""
        member = str.__new__(cls, code)
        member._value_, member.label = code, label
        return member

    RULE_TOO_BROAD = "RULE_TOO_BROAD", "a rule matched a harmless text"
    RULE_MISSED = "RULE_MISSED", "a rule should have matched and did not"
    MODERATION_TOO_STRICT = "MODERATION_TOO_STRICT", "moderation flagged a harmless text"
    MODERATION_MISSED = "MODERATION_MISSED", "moderation missed a harmful text"
    CONTEXT_MATTERS = "CONTEXT_MATTERS", "the conversation changes the meaning"
    WRONG_FACTS = "WRONG_FACTS", "the reply states something false"
    MISSING_KNOWLEDGE = "MISSING_KNOWLEDGE", "the documents do not contain the answer"
    OFF_TOPIC = "OFF_TOPIC", "the reply does not answer the question"
    BAD_TONE = "BAD_TONE", "the reply is correct, but its tone is wrong"
    SHOULD_ANSWER = "SHOULD_ANSWER", "the AI could have answered"
    SHOULD_ESCALATE = "SHOULD_ESCALATE", "a person should have answered"
    POLICY_CHANGED = "POLICY_CHANGED", "correct then, wrong under today's rules"
    CORRECT = "CORRECT", "the decision is correct"
    OTHER = "OTHER", "something else, explained in the note"


RULING_REASONS: Final = {reason: reason.label for reason in RulingReason}


class Remedy(StrEnum):
    """What a review should change in the stored exchange."""

    NONE = "none"
    RESTORE = "restore"
    RESTORE_MESSAGE = "restore_message"
    REMOVE = "remove"


class Effect(StrEnum):
    """What a review changed in the stored history."""

    NONE = "none"
    RESTORED = "restored"
    REMOVED = "removed"


class ReviewSource(StrEnum):
    """The origin of a review."""

    PAGE = "page"
    QUEUE = "queue"
    BLIND = "blind"
    GOLDEN = "golden"
    BULK = "bulk"
    CLI = "cli"
    APPEAL = "appeal"


class ReviewRejected(RejectedError):
    """A review cannot be stored; the message names field, expectation and value."""


class DecisionGone(ReviewRejected):
    """The decision does not exist, or was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """The person who reviews; on the command line ``person_id`` is None and ``login`` is the system's."""

    person_id: UUID | None
    login: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One appended review.

    Attributes:
        person: login at that time.
        withdraws: the review that a ``withdrawn`` row withdraws, else None.
        standing: True unless it is withdrawn or withdraws another.
    """

    id: UUID
    decision_id: UUID
    user_id: str
    person_id: UUID | None
    person: str
    ruling: Ruling
    corrected_decision: DecisionKind | None
    reason_code: str
    note: str
    effect: Effect
    sealed_until: datetime | None
    source: ReviewSource
    item_id: int | None
    job_id: UUID | None
    withdraws: UUID | None
    created_at: datetime
    standing: bool

    def undo_until(self) -> datetime:
        """The last moment at which its author may withdraw it."""
        return self.created_at + UNDO_WINDOW

    def undo_left_s(self, now: datetime) -> int:
        """Whole seconds left for an undo, 0 when the window is over."""
        return max(0, round((self.undo_until() - now).total_seconds()))

    def is_by(self, reviewer: Reviewer) -> bool:
        """True when this person wrote it; command line reviews are compared by login."""
        if reviewer.person_id is not None or self.person_id is not None:
            return self.person_id == reviewer.person_id
        return self.person == reviewer.login


READ: Final = """
    SELECT r.id, r.decision_id, r.user_id, r.person_id, r.person, r.ruling, r.corrected_decision,
           r.reason_code, r.note, r.effect, r.sealed_until, r.source, r.item_id, r.job_id, r.withdraws,
           r.created_at,
           r.ruling <> 'withdrawn' AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
               AS standing
    FROM decision_reviews r
"""
_OF_DECISION: Final = (
    f"{READ} WHERE r.decision_id = :decision ORDER BY r.created_at, r.withdraws IS NULL, r.id"
)
OF_DECISION: Final = sa.text(_OF_DECISION)
ONE: Final = sa.text(f"{READ} WHERE r.id = :review")
_RECENT: Final = f"""
    {READ} WHERE r.person_id = :person AND r.created_at >= :since AND r.ruling <> 'withdrawn'
        AND r.source IN ('page', 'queue', 'blind')
        AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
    ORDER BY r.created_at DESC LIMIT 1
"""
RECENT: Final = sa.text(_RECENT)
BOTH: Final = sa.text(f"""
    (SELECT 'decision' AS part, of_decision.* FROM ({_OF_DECISION}) AS of_decision)
    UNION ALL (SELECT 'own' AS part, own.* FROM ({_RECENT}) AS own)
""")
OF_JOB: Final = sa.text(f"""
    {READ} WHERE r.job_id = :job AND r.decision_id > :after ORDER BY r.decision_id LIMIT :limit
""")
NO_DECISION: Final = UUID(int=0)
LAST: Final = sa.text("SELECT last_review FROM review_states WHERE decision_id = :decision")


async def list_reviews(connection: Connection, decision_id: UUID) -> tuple[Review, ...]:
    """All reviews of a decision, oldest first, including withdrawn ones."""
    return await rows_as(connection, Review, OF_DECISION, {"decision": decision_id})


async def get_review(connection: Connection, review_id: UUID) -> Review | None:
    """A review by its id, or None."""
    return await row_as(connection, Review, ONE, {"review": review_id})


async def reviews_of_job(
    connection: Connection, job_id: UUID, *, after: UUID | None, limit: int
) -> tuple[Review, ...]:
    """The reviews that a job stored, by decision, from the decision behind ``after`` on."""
    values = {"job": job_id, "after": after or NO_DECISION, "limit": limit}
    return await rows_as(connection, Review, OF_JOB, values)


async def reviews_and_own(
    connection: Connection, decision_id: UUID, person_id: UUID, now: datetime
) -> tuple[tuple[Review, ...], Review | None]:
    """All reviews of a decision, as ``list_reviews``, and ``undoable_review`` of a person."""
    values = {"decision": decision_id, "person": person_id, "since": now - UNDO_WINDOW}
    rows = [(row["part"], from_row(Review, row)) for row in await all_rows(connection, BOTH, values)]
    reviews = tuple(review for part, review in rows if part == "decision")
    return reviews, next((review for part, review in rows if part == "own"), None)


async def undoable_review(connection: Connection, person_id: UUID, now: datetime) -> Review | None:
    """The newest review that a person may still withdraw, or None."""
    values = {"person": person_id, "since": now - UNDO_WINDOW}
    return await row_as(connection, Review, RECENT, values)


async def last_seen_review(connection: Connection, decision_id: UUID) -> UUID | None:
    """The newest review or None; a form sends it back to detect a stale submission."""
    last: UUID | None = (await connection.execute(LAST, {"decision": decision_id})).scalar()
    return last


def review_state(reviews: Sequence[Review]) -> str:
    """The review state of a decision: agree, overturn, unsure, disputed, or open without a standing review.

    Of a person's reviews the newest counts. Golden answers do not count; an unsure ruling does not outweigh a
    sure one.
    """
    rulings = set({each.person_id or each.person: each.ruling for each in standing_reviews(reviews)}.values())
    sure = rulings - {Ruling.UNSURE}
    if len(sure) > 1:
        return "disputed"
    return str(next(iter(sure or rulings), "open"))


def standing_reviews(reviews: Sequence[Review]) -> tuple[Review, ...]:
    """The reviews that determine a decision's state."""
    return tuple(each for each in reviews if each.standing and each.source is not ReviewSource.GOLDEN)
