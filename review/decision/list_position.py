"""The list that a person came from to a decision, and the decisions next to it there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from db.audit.cursor import Direction
from db.audit.decision_list import next_decision
from db.connection import Connection
from db.reviews import queue_items
from db.reviews.visible_decision import VisibleDecision, load_visible_decision
from review.http.visit import Visit
from review.lists.filters import ListQuery
from review.lists.visit_query import parse_visit_query

MOST_FIELDS: Final = 50
"""Fields of a list's query."""
LONGEST_QUERY: Final = 4000
"""Characters of a list's query that links and forms carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPosition:
    """The list that the person came from, and the decisions next to this one.

    Attributes:
        query: of the list's URL.
        link_query: for links to other decisions of the list; empty when the person came from elsewhere.
        oldest_first: the person reads lists from the oldest decision on.
    """

    query: str = ""
    link_query: str = ""
    newer: UUID | None = None
    older: UUID | None = None
    oldest_first: bool = False

    @property
    def following(self) -> UUID | None:
        """The decision that comes next in the person's order."""
        return self.newer if self.oldest_first else self.older


def list_position(visit: Visit) -> ListPosition:
    """The list that the person came from, without the decisions next to this one."""
    query = list_filters(visit)
    if query is None:
        return ListPosition()
    return ListPosition(
        query=query.encoded(),
        link_query=urlencode({"from": query.encoded()}),
        oldest_first=visit.person.list_layout.oldest_first,
    )


async def load_position(visit: Visit, connection: Connection, decision: VisibleDecision) -> ListPosition:
    """The next decisions by the filters of the list that the person came from, if these are valid."""
    query = list_filters(visit)
    if query is None:
        return ListPosition()
    filters = queue_items.hiding(query.filters, decision.hidden_decisions)
    return replace(
        list_position(visit),
        newer=await next_decision(connection, filters, decision.row, Direction.NEWER),
        older=await next_decision(connection, filters, decision.row, Direction.OLDER),
    )


async def following_decision(visit: Visit, decision_id: UUID) -> UUID | None:
    """The next decision of the list that the person came from; None at the end of the list or without one."""
    query = list_filters(visit)
    if query is None:
        return None
    async with visit.store.reading() as connection:
        decision = await load_visible_decision(connection, decision_id, visit.person.person_id)
        if decision is None:
            return None
        filters = queue_items.hiding(query.filters, decision.hidden_decisions)
        direction = Direction.NEWER if visit.person.list_layout.oldest_first else Direction.OLDER
        return await next_decision(connection, filters, decision.row, direction)


def list_query(visit: Visit) -> str | None:
    """The query of the list the person came from, in ``?from=`` or in a form's field; None without one."""
    given = visit.request.query_params.get("from", visit.form.get("from"))
    return given if isinstance(given, str) and len(given) <= LONGEST_QUERY else None


def list_filters(visit: Visit) -> ListQuery | None:
    """The filters of the list that the person came from; None without a usable list."""
    if (came_from := list_query(visit)) is None:
        return None
    try:
        query = parse_visit_query(visit, parse_qsl(came_from, max_num_fields=MOST_FIELDS))
    except ValueError:
        return None
    return None if query.problems else query
