"""A stored decision as one person may see it: the first read of every page and program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.answers.state import UNANSWERED, PersonAnswer, answer_of
from db.answers.tables import answers
from db.audit.decision_context import DecisionRow, decision_query
from db.connection import Connection
from db.history.conversation_owners import OwnerRecord
from db.review_tables import golden_items, queue_items, review_states
from db.reviews.exchanges import ReviewSubject
from db.reviews.golden_answers import KnownAnswer
from db.rows import Row, first_row, from_row
from db.tables import ai_decisions, conversations
from worker.model import DecisionKind
from worker.snapshot import Snapshot

OWNER: Final = ("people_until", "changed_at", "changed_by", "cause", "changes")
KNOWN: Final = ("ruling", "corrected_decision", "note", "created_by")
_NEWEST_ANSWER: Final = (
    sa.select(answers.c.id)
    .where(answers.c.decision_id == ai_decisions.c.id, answers.c.text.is_not(None))
    .order_by(answers.c.created_at.desc(), answers.c.id.desc())
    .limit(1)
    .scalar_subquery()
    .label("newest_answer")
)
_HIDDEN: Final = (
    sa.select(sa.func.array_agg(queue_items.c.decision_id.distinct()))
    .where(queue_items.c.claimed_by == sa.bindparam("person", type_=sa.Uuid), queue_items.c.done_at.is_(None))
    .scalar_subquery()
    .label("hidden_decisions")
)
_JOINED: Final = (
    (review_states, review_states.c.decision_id == ai_decisions.c.id),
    (golden_items, golden_items.c.decision_id == ai_decisions.c.id),
    (
        conversations,
        sa.and_(
            conversations.c.user_id == ai_decisions.c.user_id,
            conversations.c.conversation_id == ai_decisions.c.conversation_id,
        ),
    ),
)
_MORE: Final = (
    _NEWEST_ANSWER,
    _HIDDEN,
    review_states.c.state.label("review_state"),
    review_states.c.last_review,
    *(conversations.c[name].label(f"owner_{name}") for name in OWNER),
    *(golden_items.c[name].label(f"known_{name}") for name in KNOWN),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleDecision:
    """A stored decision, and what one person may know of it.

    Attributes:
        row: the decision with its reply, and the fields of ``PersonAnswer``, which are None while the
            reviews are hidden.
        newest_answer: the newest text that a person sent for it.
        hidden_decisions: decisions in queues that the person holds; their reviews are hidden.
        review_state: open without a standing review; also while the reviews are hidden.
        last_review: None without a review.
        owner: who may answer in the conversation; None when people never had it.
        known: the known answer; show it only to leads and to people who have answered.
    """

    row: DecisionRow
    snapshot: Snapshot
    newest_answer: UUID | None
    hidden_decisions: frozenset[UUID]
    review_state: str
    last_review: UUID | None
    owner: OwnerRecord | None
    known: KnownAnswer | None

    @property
    def blind(self) -> bool:
        """Whether the person holds this decision in a queue, and must not see its reviews yet."""
        return self.row["id"] in self.hidden_decisions

    @property
    def answer(self) -> PersonAnswer | None:
        """The standing answer of a person; None also while the reviews are hidden."""
        return answer_of(self.row)

    @property
    def subject(self) -> ReviewSubject:
        """The decision under review."""
        texts = ("event_id", "conversation_id", "message_id", "scope", "reason_code")
        return ReviewSubject(
            **{name: self.row[name] for name in ("id", "created_at", "user_id", *texts)},
            decision=DecisionKind(self.row["decision"]),
            quarantined=self.snapshot.quarantined,
            answer_id=self.newest_answer,
        )


async def load_visible_decision(
    connection: Connection, decision_id: UUID, person_id: UUID
) -> VisibleDecision | None:
    """A decision for one person; None also after its erasure."""
    query = decision_query(decision_id, *_JOINED).add_columns(*_MORE)
    row = await first_row(connection, query, {"person": person_id})
    return None if row is None else _visible_decision(row)


def _visible_decision(row: Row) -> VisibleDecision:
    owner = {name: row.pop(f"owner_{name}") for name in OWNER}
    known = {name: row.pop(f"known_{name}") for name in KNOWN}
    hidden = frozenset(row.pop("hidden_decisions") or ())
    if row["id"] in hidden:
        row |= {**UNANSWERED, "review_state": None}
    return VisibleDecision(
        newest_answer=row.pop("newest_answer"),
        hidden_decisions=hidden,
        review_state=row["review_state"] or "open",
        last_review=row.pop("last_review"),
        owner=from_row(OwnerRecord, row | owner) if owner["people_until"] else None,
        known=from_row(KnownAnswer, known) if known["ruling"] else None,
        row=row,
        snapshot=Snapshot.from_json(row["snapshot_json"]),
    )
