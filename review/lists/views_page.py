"""The page of saved views: the person's own and those that others share."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.responses import Response

from db.audit import saved_views
from db.audit.saved_views import ViewRefused
from db.identifiers import uuid_at
from review.access import Right
from review.http.visit import Refused, Visit
from review.lists import shared_views
from review.lists.filter_fields import FIELDS
from review.lists.filters import ParseContext, parse_query

NOTHING: Final = Refused(404, "Not found", "There is no such view of yours.")

DONE: Final = {"kept": "The view is saved.", "saved": "The view is saved.", "deleted": "The view is deleted."}
"""The message after an action, by the word in the address."""


async def list_views(visit: Visit) -> Response:
    """The person's views and those shared with them."""
    async with visit.store.reading() as connection:
        found = await shared_views.visible_views(visit, connection)
    asker = ParseContext(now=visit.now, login=visit.person.login)
    shown = [(view, parse_query(parse_qsl(view.query), asker, visit.accounts(Right.VIEW))) for view in found]
    done = DONE.get(visit.request.query_params.get("done", ""), "")
    return visit.render("views.html", views=shown, fields=FIELDS, done=done)


async def save_view(visit: Visit) -> Response:
    """Save the filters of the form under a name."""
    pairs = parse_qsl(str(visit.form.get("query", "")))
    wanted = parse_query(
        pairs, ParseContext(now=visit.now, login=visit.person.login), visit.accounts(Right.VIEW)
    )
    if wanted.problems:
        raise Refused(400, "These filters cannot be saved", "Go back to the list and save them from there.")
    async with visit.store.writing() as connection:
        try:
            await saved_views.save_view(
                connection,
                uuid_at(visit.now),
                visit.person.person_id,
                name=str(visit.form.get("name", "")),
                query=wanted.query(),
            )
        except ViewRefused as refused:
            raise Refused(400, "The view cannot be saved", str(refused)) from refused
    return visit.redirect("views", query="done=kept")


async def change_view(visit: Visit) -> Response:
    """Rename, share or unshare a view of the person."""
    name, shared = str(visit.form.get("name", "")), visit.form.get("shared") == "1"
    async with visit.store.writing() as connection:
        try:
            found = await saved_views.change_view(
                connection, _view_id(visit), visit.person.person_id, name=name, shared=shared
            )
        except ViewRefused as refused:
            raise Refused(400, "The view cannot be renamed", str(refused)) from refused
    return _back(visit, "saved", found=found)


async def delete_view(visit: Visit) -> Response:
    """Delete a view of the person."""
    async with visit.store.writing() as connection:
        found = await saved_views.delete_view(connection, _view_id(visit), visit.person.person_id)
    return _back(visit, "deleted", found=found)


def _back(visit: Visit, done: str, *, found: bool) -> Response:
    if not found:
        raise NOTHING
    return visit.redirect("views", query=f"done={done}")


def _view_id(visit: Visit) -> UUID:
    return visit.path_id("view_id", NOTHING)
