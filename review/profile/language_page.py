"""The forms that choose language and time zone (before the sign-in too), and the appearance."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from starlette.responses import RedirectResponse, Response

from db.people import changes
from review.http.named_routes import local_path
from review.http.visit import Refused, Visit, set_cookie
from review.languages import gettext as _
from review.languages.catalogues import LANGUAGES
from review.languages.choice import LANGUAGE_COOKIE, zone_names
from review.shell.appearance import KEPT_S, SIDEBAR_COOKIE, THEME_COOKIE, Sidebar, Theme
from review.typed.problems import choice_problem

YEAR_S: Final = 31_536_000


async def choose(visit: Visit) -> Response:
    """Store the fields that the form has: ``language`` and ``time_zone``, empty for the browser's own.

    ``next`` is the page to return to. Without a sign-in only a cookie is set.
    """
    language, zone = _field(visit, "language", LANGUAGES), _field(visit, "time_zone", zone_names())
    given = {"language": language, "time_zone": zone}
    chosen = {name: value or None for name, value in given.items() if value is not None}
    if visit.signed_in is not None and chosen:
        async with visit.store.writing() as connection:
            await changes.set_columns(connection, visit.signed_in.person_id, **chosen)
    response = RedirectResponse(local_path(visit.field("next")), status_code=303)
    if language is not None:
        response.set_cookie(
            LANGUAGE_COOKIE, language, YEAR_S if language else 0, secure=True, httponly=True, samesite="lax"
        )
    return response


def _field(visit: Visit, name: str, known: Container[str]) -> str | None:
    """The choice of a field: empty for the browser's own, None where the form has no such field."""
    if name not in visit.form:
        return None
    value = visit.field(name)
    if value and value not in known:
        text = _("Choose one of the list.")
        raise Refused(400, _("Unknown language or time zone"), text)
    return value


async def change_appearance(visit: Visit) -> Response:
    """Keep the chosen theme or sidebar in a cookie; back to the page."""
    response = RedirectResponse(local_path(visit.field("back")), status_code=303)
    chosen = ((THEME_COOKIE, visit.field("theme"), Theme), (SIDEBAR_COOKIE, visit.field("sidebar"), Sidebar))
    for cookie, value, values in chosen:
        if not value:
            continue
        if value not in tuple(values):
            raise Refused(400, "Appearance", choice_problem(values, value))
        set_cookie(response, cookie, value, max_age=KEPT_S)
    return response
