"""Columns and order of the list of decisions: what is offered, and keeping a person's choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.responses import Response

from db.people import changes
from db.people.list_layout import ListColumn, ListOrder
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.lists.visit_query import parse_visit_query

COLUMN_TITLES: Final[Mapping[ListColumn, str]] = {
    ListColumn.ACCOUNT: mark("Account"),
    ListColumn.AUTHOR: mark("Author"),
    ListColumn.REPLY: mark("Reply"),
    ListColumn.CONFIDENCE: mark("Confidence"),
    ListColumn.REVIEW: mark("Review"),
}
"""Total."""
ORDER_TITLES: Final[Mapping[ListOrder, str]] = {
    ListOrder.NEWEST: mark("Newest first"),
    ListOrder.OLDEST: mark("Oldest first"),
}
"""Total."""


async def save_layout(visit: Visit) -> Response:
    """Keep the columns, the order, or both; back to the list with its filters."""
    columns = [str(each) for each in visit.form.getlist("column")]
    order = visit.field("order")
    unknown = [each for each in columns if each not in tuple(ListColumn)]
    if unknown or (order and order not in tuple(ListOrder)):
        text = _("Choose columns and order in the list, and save them there.")
        raise Refused(400, _("The list cannot be changed"), text)
    chosen: dict[str, object] = {"list_columns": columns} if visit.field("columns") else {}
    if order:
        chosen["list_order"] = order
    if chosen:
        async with visit.store.writing() as connection:
            await changes.set_columns(connection, visit.person.person_id, **chosen)
    query = parse_visit_query(visit, parse_qsl(visit.field("query")))
    return visit.redirect("decisions", query.encoded())
