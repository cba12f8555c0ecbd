"""The form of the user menu that changes theme and sidebar."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from review.http.local_paths import local_path
from review.http.visit import Refused, Visit, set_cookie
from review.shell.appearance import KEPT_S, SIDEBAR_COOKIE, THEME_COOKIE, Sidebar, Theme
from review.typed.problems import choice_problem


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
