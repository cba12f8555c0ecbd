"""What a list shows beside its decisions: review states, replies, people's answers and the person's views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.answers.state import PersonAnswer, answer_of
from db.audit.saved_views import SavedView, views_query
from db.audit.search import SearchRow
from db.connection import Connection
from db.customer_feedback.reading import VERDICT
from db.rows import Row

MARKS: Final = f"""
    (SELECT coalesce(jsonb_agg(jsonb_build_object(
        'id', listed.id, 'state', state.state, 'reply', reply.text, 'answered', answer.state,
        'answered_by', answer.person, 'answered_at', answer.answered_at, 'answer_text', answer.text,
        'feedback', {VERDICT})), '[]')
     FROM (SELECT given.*, EXISTS (SELECT FROM queue_items item WHERE item.decision_id = given.id
                                       AND item.claimed_by = :person AND item.done_at IS NULL) AS hidden
           FROM unnest(CAST(:ids AS uuid[]), CAST(:accounts AS text[]), CAST(:events AS text[]))
               AS given (id, user_id, event_id)) AS listed
     LEFT JOIN review_states state ON state.decision_id = listed.id AND NOT listed.hidden
     LEFT JOIN answered_decisions answer ON answer.decision_id = listed.id AND NOT listed.hidden
     LEFT JOIN outbox reply ON reply.user_id = listed.user_id AND reply.event_id = listed.event_id
         AND reply.decision_id = listed.id AND reply.cancelled_at IS NULL) AS marks
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMarks:
    """What people have just changed, by decision.

    A decision that the person holds in a queue has neither a state nor an answer: both tell what others said.

    Attributes:
        states: review state of the reviewed ones.
        replies: approved replies of the AI, sent or waiting; cancelled ones are left out.
        answers: standing answers of people.
        feedback: what customers say: ``wrong``, ``right`` or ``neither``.
        views: the person's own views and those that others share; empty unless asked for.
    """

    states: Mapping[UUID, str]
    replies: Mapping[UUID, str]
    answers: Mapping[UUID, PersonAnswer]
    feedback: Mapping[UUID, str]
    views: tuple[SavedView, ...] = ()


async def load_list_marks(
    connection: Connection,
    rows: Sequence[SearchRow],
    person_id: UUID,
    *,
    views_on: Sequence[str] | None = (),
) -> ListMarks:
    """The marks of these decisions for one person.

    ``views_on``: with the views that a person who sees these accounts may use, None: every account.
    """
    values = {
        "ids": [row["id"] for row in rows],
        "accounts": [row["user_id"] for row in rows],
        "events": [row["event_id"] if row["decision"] == "respond" else None for row in rows],
        "person": person_id,
    }
    listed = views_query(person_id, views_on).subquery("view")
    views = sa.select(sa.func.jsonb_agg(sa.func.to_jsonb(sa.literal_column("view")))).select_from(listed)
    query = sa.select(sa.text(MARKS), views.scalar_subquery().label("views"))
    found, views_found = (await connection.execute(query, values)).one()
    marks = {UUID(each["id"]): each for each in found}
    return ListMarks(
        states={key: each["state"] for key, each in marks.items() if each["state"] is not None},
        replies={key: each["reply"] for key, each in marks.items() if each["reply"] is not None},
        answers={key: made for key, each in marks.items() if (made := _answer(each)) is not None},
        feedback={key: each["feedback"] for key, each in marks.items() if each["feedback"] is not None},
        views=tuple(SavedView(**each | {"view_id": UUID(each["view_id"])}) for each in views_found or ()),
    )


def _answer(mark: Row) -> PersonAnswer | None:
    """The answer of a mark, whose time is JSON text."""
    at = mark["answered_at"]
    return answer_of(mark | {"answered_at": datetime.fromisoformat(at) if at else None})
