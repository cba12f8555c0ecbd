"""Figures and events of one author or conversation, bounded so that they never delay a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.audit.search import TooSlow, statement_limit
from db.collaboration.subjects import Subject, SubjectKind
from db.connection import Connection
from db.escalations import listing
from db.escalations.listing import EscalationRecord
from db.rows import all_rows, rows_as

MOST_COUNTED: Final = 1000
COUNT_S: Final = 0.03
"""A count that takes longer is not shown, so that it does not delay the page."""
MOST_LISTED: Final = 50
COLUMN: Final = {SubjectKind.AUTHOR: "author_id", SubjectKind.CONVERSATION: "conversation_id"}
COUNTS: Final = """
    SELECT decision, count(*) AS decisions FROM (
        SELECT decision FROM ai_decisions WHERE user_id = :user_id AND {column} = :subject
        ORDER BY created_at DESC, id DESC LIMIT :most) AS newest
    GROUP BY decision
"""
KNOWN: Final = """
    SELECT EXISTS (SELECT FROM ai_decisions WHERE user_id = :user_id AND {column} = :subject)
        OR EXISTS (SELECT FROM subject_notes
                   WHERE user_id = :user_id AND kind = :kind AND subject = :subject)
"""
ESCALATIONS: Final = sa.text(f"""{listing.SELECT}
    WHERE user_id = :user_id AND conversation_id = :subject ORDER BY opened_at DESC LIMIT :most
""")
ANSWERS: Final = sa.text("""
    SELECT decision_id, outcome, person, created_at FROM answers
    WHERE user_id = :user_id AND conversation_id = :subject ORDER BY created_at DESC LIMIT :most
""")
REVIEWS: Final = sa.text("""
    SELECT r.decision_id, r.person, r.ruling, r.created_at FROM decision_reviews r
    WHERE r.decision_id = ANY(:decisions) AND r.ruling <> 'withdrawn' AND r.source <> 'golden'
        AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
    ORDER BY r.created_at
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectCounts:
    """Decisions by outcome; ``complete`` False: only the newest ``MOST_COUNTED`` are counted."""

    by_decision: tuple[tuple[str, int], ...]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationAnswer:
    """An answer of a person in a conversation, without its text."""

    decision_id: UUID
    outcome: str
    person: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingReview:
    """A review that was not withdrawn."""

    decision_id: UUID
    person: str
    ruling: str
    created_at: datetime


async def is_known_subject(connection: Connection, subject: Subject) -> bool:
    """Whether anything of it is stored."""
    query = sa.text(KNOWN.format(column=COLUMN[subject.kind]))
    return bool((await connection.execute(query, subject.values())).scalar_one())


async def count_outcomes(connection: Connection, subject: Subject) -> SubjectCounts | None:
    """The newest decisions of a subject by outcome; None when counting takes too long."""
    query = sa.text(COUNTS.format(column=COLUMN[subject.kind]))
    values = {**subject.values(), "most": MOST_COUNTED + 1}
    try:
        async with statement_limit(connection, COUNT_S):
            rows = await all_rows(connection, query, values)
    except TooSlow:
        return None
    counted = tuple((str(row["decision"]), int(row["decisions"])) for row in rows)
    return SubjectCounts(by_decision=counted, complete=sum(number for _, number in counted) <= MOST_COUNTED)


async def list_escalations(connection: Connection, subject: Subject) -> tuple[EscalationRecord, ...]:
    """The newest escalations of a conversation."""
    return await rows_as(connection, EscalationRecord, ESCALATIONS, _listed(subject))


async def list_answers(connection: Connection, subject: Subject) -> tuple[ConversationAnswer, ...]:
    """The newest answers of people in a conversation."""
    return await rows_as(connection, ConversationAnswer, ANSWERS, _listed(subject))


async def list_standing_reviews(
    connection: Connection, decisions: list[UUID]
) -> dict[UUID, list[StandingReview]]:
    """The reviews of these decisions that stand, oldest first."""
    found: dict[UUID, list[StandingReview]] = {}
    for row in await all_rows(connection, REVIEWS, {"decisions": decisions}) if decisions else ():
        found.setdefault(row["decision_id"], []).append(StandingReview(**row))
    return found


def _listed(subject: Subject) -> dict[str, Any]:
    return {**subject.values(), "most": MOST_LISTED}
