"""Kept views: filters under a name, one's own and those that others share."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID

from starlette.responses import Response

from db import views
from db.identifiers import identifier
from db.views import ViewRefused
from review import shared_views
from review.access import Right
from review.lists.filters import FIELDS, Asker, asked
from review.web import Refused, Visit

DONE: Final = {"kept": "The view is kept.", "saved": "The view is saved.", "deleted": "The view is deleted."}
"""What was done just now, by the word in the address."""


async def listed(visit: Visit) -> Response:
    """The person's views and those shared with them."""
    async with visit.store.reading() as connection:
        found = await shared_views.seen_by(visit, connection)
    asker = Asker(now=visit.now, login=visit.person.login)
    shown = [(view, asked(parse_qsl(view.query), asker, visit.accounts(Right.VIEW))) for view in found]
    done = DONE.get(visit.request.query_params.get("done", ""), "")
    return visit.render("views.html", views=shown, fields=FIELDS, done=done)


async def keep(visit: Visit) -> Response:
    """Keep the filters of the form under a name."""
    pairs = parse_qsl(str(visit.form.get("query", "")))
    wanted = asked(pairs, Asker(now=visit.now, login=visit.person.login), visit.accounts(Right.VIEW))
    if wanted.problems:
        raise Refused(400, "These filters cannot be kept", "Go back to the list and keep them from there.")
    async with visit.store.writing() as connection:
        try:
            await views.keep(
                connection,
                identifier(visit.now),
                visit.person.person_id,
                name=str(visit.form.get("name", "")),
                query=wanted.query(),
            )
        except ViewRefused as refused:
            raise Refused(400, "The view cannot be kept so", str(refused)) from refused
    return visit.redirect("views", query="done=kept")


async def change(visit: Visit) -> Response:
    """Rename a view of one's own, share it or not."""
    name, shared = str(visit.form.get("name", "")), visit.form.get("shared") == "1"
    async with visit.store.writing() as connection:
        try:
            found = await views.change(
                connection, _view_id(visit), visit.person.person_id, name=name, shared=shared
            )
        except ViewRefused as refused:
            raise Refused(400, "The view cannot be called so", str(refused)) from refused
    return _back(visit, "saved", found=found)


async def delete(visit: Visit) -> Response:
    """Delete a view of one's own."""
    async with visit.store.writing() as connection:
        found = await views.delete(connection, _view_id(visit), visit.person.person_id)
    return _back(visit, "deleted", found=found)


def _back(visit: Visit, done: str, *, found: bool) -> Response:
    if not found:
        raise _nothing()
    return visit.redirect("views", query=f"done={done}")


def _view_id(visit: Visit) -> UUID:
    try:
        return UUID(visit.request.path_params["view_id"])
    except ValueError as error:
        raise _nothing() from error


def _nothing() -> Refused:
    return Refused(404, "Not found", "There is no such view of yours.")
