"""What a list shows beside its decisions: review states, replies and the person's views, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.audit.saved_views import SavedView, views_query
from db.audit.search import SearchRow
from db.connection import Connection

MARKS: Final = """
    (SELECT coalesce(jsonb_agg(jsonb_build_array(listed.id, state.state, reply.text)), '[]')
     FROM unnest(CAST(:ids AS uuid[]), CAST(:accounts AS text[]), CAST(:events AS text[]))
         AS listed (id, user_id, event_id)
     LEFT JOIN review_states state ON state.decision_id = listed.id
         AND NOT EXISTS (SELECT FROM queue_items item WHERE item.decision_id = listed.id
                             AND item.claimed_by = :person AND item.done_at IS NULL)
     LEFT JOIN outbox reply ON reply.user_id = listed.user_id AND reply.event_id = listed.event_id
         AND reply.decision_id = listed.id AND reply.cancelled_at IS NULL) AS marks
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMarks:
    """What people have just changed, by decision.

    Attributes:
        states: review state of the reviewed ones, without decisions whose reviews the person must not see.
        replies: approved replies, sent or waiting; cancelled ones are left out.
        views: the person's own views and those that others share; empty unless asked for.
    """

    states: dict[UUID, str]
    replies: dict[UUID, str]
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
    marks, found = (await connection.execute(query, values)).one()
    return ListMarks(
        states={UUID(decision_id): state for decision_id, state, _ in marks if state is not None},
        replies={UUID(decision_id): text for decision_id, _, text in marks if text is not None},
        views=tuple(SavedView(**each | {"view_id": UUID(each["view_id"])}) for each in found or ()),
    )
