"""What the page of an author or conversation shows, as it is read from the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from db.audit import decision_list, subject_figures
from db.audit.decision_list import DecisionPage
from db.audit.filters import Filters
from db.audit.subject_figures import (
    ConversationAnswer,
    StandingReview,
    SubjectCounts,
)
from db.collaboration import subjects
from db.collaboration.subjects import Subject, SubjectKind, SubjectNote, SubjectTag
from db.connection import Connection
from db.escalations.listing import EscalationRecord
from db.history import conversation_owners
from db.history.conversation_owners import ConversationIds, OwnerRecord
from db.reviews import queue_items
from db.reviews.list_marks import ListMarks, load_list_marks
from review.content_covers import cover_reason
from review.http.visit import Visit

ROWS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A page of decisions, newest first, with what is shown of each.

    Attributes:
        marks: replies and answers.
        reviews: standing reviews, without decisions whose reviews the person must not see yet.
        covers: why the texts of a decision are covered; empty for shown texts.
    """

    page: DecisionPage
    marks: ListMarks
    reviews: Mapping[UUID, list[StandingReview]]
    covers: Mapping[UUID, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRecord:
    """What people did in a conversation; ``owner`` None: people never had it."""

    owner: OwnerRecord | None
    escalations: tuple[EscalationRecord, ...]
    answers: tuple[ConversationAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRecord:
    """Everything of an author or conversation; ``conversation`` None for an author."""

    history: History
    counts: SubjectCounts | None
    notes: tuple[SubjectNote, ...]
    tags: tuple[SubjectTag, ...]
    conversation: ConversationRecord | None


async def load_subject(visit: Visit, subject: Subject, cursor: str | None) -> SubjectRecord | None:
    """The record; None when nothing is stored of it.

    Raises:
        CursorRejected: the cursor was not made by an earlier page.
    """
    async with visit.store.reading() as connection:
        if not await subject_figures.is_known_subject(connection, subject):
            return None
        history = await _load_history(visit, connection, subject, cursor)
        counts = await subject_figures.count_outcomes(connection, subject)
        notes = await subjects.list_notes(connection, subject)
        tags = await subjects.list_tags(connection, subject)
        answers: tuple[ConversationAnswer, ...] = ()
        escalations: tuple[EscalationRecord, ...] = ()
        if subject.kind is SubjectKind.CONVERSATION:
            escalations = await subject_figures.list_escalations(connection, subject)
            answers = await subject_figures.list_answers(connection, subject)
    conversation = None
    if subject.kind is SubjectKind.CONVERSATION:
        ids = ConversationIds(user_id=subject.user_id, conversation_id=subject.id)
        owner = await conversation_owners.load_owner(visit.store.pool, ids)
        conversation = ConversationRecord(owner=owner, escalations=escalations, answers=answers)
    return SubjectRecord(
        history=history,
        counts=counts,
        notes=notes,
        tags=tags,
        conversation=conversation,
    )


async def _load_history(
    visit: Visit, connection: Connection, subject: Subject, cursor: str | None
) -> History:
    is_author = subject.kind is SubjectKind.AUTHOR
    filters = Filters(
        user_id=subject.user_id,
        author_id=subject.id if is_author else None,
        conversation_id=None if is_author else subject.id,
    )
    page = await decision_list.load_page(connection, filters, limit=ROWS, cursor=cursor)
    hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    covered = visit.person.covered
    scores = await decision_list.high_scores(connection, page.rows) if covered else {}
    shown = [row["id"] for row in page.rows if row["id"] not in hidden]
    return History(
        page=page,
        marks=await load_list_marks(connection, page.rows, visit.person.person_id),
        reviews=await subject_figures.list_standing_reviews(connection, shown),
        covers={
            row["id"]: cover_reason(covered, {**row, "high_score_categories": scores.get(row["id"])})
            for row in page.rows
        },
    )
