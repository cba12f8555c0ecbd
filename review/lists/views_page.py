"""Saved views: the person's own and those that others share; the layout of the list of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs, parse_qsl

from starlette.responses import Response

from db.audit import saved_views
from db.audit.saved_views import SavedView, ViewRefused
from db.connection import Connection
from db.identifiers import uuid_at
from db.people import changes
from db.people.list_layout import ListColumn, ListOrder
from review.access import Right
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.lists.filter_fields import FIELDS
from review.lists.visit_query import parse_visit_query

NOT_FOUND: Final = Refused(404, "Not found", "There is no such view of yours.")

SAVED: Final = mark("The view is saved.")
MESSAGES: Final = {"kept": SAVED, "saved": SAVED, "deleted": mark("The view is deleted.")}
"""The message after an action, by the word in the address."""


async def list_views(visit: Visit) -> Response:
    """The person's views and those shared with them."""
    async with visit.store.reading() as connection:
        found = await load_visible_views(visit, connection)
    views = [(view, parse_visit_query(visit, parse_qsl(view.query))) for view in found]
    message = MESSAGES.get(visit.request.query_params.get("done", ""), "")
    return visit.render("views.html", views=views, fields=FIELDS, message=message)


async def load_visible_views(visit: Visit, connection: Connection) -> tuple[SavedView, ...]:
    """The person's own views and the shared ones, without those on accounts the person may not see."""
    found = await saved_views.list_views(connection, visit.person.person_id, visit.accounts(Right.VIEW))
    return visible_views(visit, found)


def visible_views(visit: Visit, found: Sequence[SavedView]) -> tuple[SavedView, ...]:
    """The views that are the person's own, or on accounts that the person may see."""
    accounts = {view.view_id: parse_qs(view.query).get("account", ()) for view in found}
    return tuple(
        view
        for view in found
        if view.mine or all(visit.may(Right.VIEW, each) for each in accounts[view.view_id])
    )


async def save_view(visit: Visit) -> Response:
    """Save the filters of the form under a name."""
    query = parse_visit_query(visit, parse_qsl(visit.field("query")))
    if query.problems:
        raise Refused(400, "These filters cannot be saved", "Go back to the list and save them from there.")
    async with visit.store.writing() as connection:
        try:
            await saved_views.save_view(
                connection,
                uuid_at(visit.now),
                visit.person.person_id,
                name=visit.field("name"),
                query=query.encoded(),
            )
        except ViewRefused as refused:
            raise Refused(400, "The view cannot be saved", str(refused)) from refused
    return visit.redirect("views", query="done=kept")


async def change_view(visit: Visit) -> Response:
    """Rename, share or unshare a view of the person."""
    view_id = visit.path_id("view_id", NOT_FOUND)
    name, shared = visit.field("name"), visit.form.get("shared") == "1"
    async with visit.store.writing() as connection:
        try:
            found = await saved_views.change_view(
                connection, view_id, visit.person.person_id, name=name, shared=shared
            )
        except ViewRefused as refused:
            raise Refused(400, "The view cannot be renamed", str(refused)) from refused
    return _back(visit, "saved", found=found)


async def delete_view(visit: Visit) -> Response:
    """Delete a view of the person."""
    view_id = visit.path_id("view_id", NOT_FOUND)
    async with visit.store.writing() as connection:
        found = await saved_views.delete_view(connection, view_id, visit.person.person_id)
    return _back(visit, "deleted", found=found)


def _back(visit: Visit, done: str, *, found: bool) -> Response:
    if not found:
        raise NOT_FOUND
    return visit.redirect("views", query=f"done={done}")


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
