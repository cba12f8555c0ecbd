"""A new session, and the page that somebody lands on with it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from db import access_log, people_changes, sessions
from db.access_log import Action
from db.people import Person
from review.people.carried import Carried
from review.web import FORM_COOKIE, SESSION_COOKIE, Refused, Visit, drop_cookie, new_token, set_cookie

START: Final = "/"


async def enter(
    visit: Visit,
    person: Person,
    *,
    way: str,
    password_hash: str | None = None,
    next_page: str = START,
    carried: Carried | None = None,
) -> Response:
    """Begin a session under a new cookie and go on; with a form that was kept, show that first.

    ``way`` is how they came in, for the access log: password, link or oidc. ``password_hash`` is what their
    password was judged by: it must be the stored one still.

    Raises:
        Refused: 409 when the password was changed, or the person disabled, since it was judged.
    """
    token, old = new_token(), visit.request.cookies.get(SESSION_COOKIE)
    lasts = timedelta(seconds=visit.site.settings.review_session_s)
    async with visit.store.writing() as connection:
        if password_hash is not None and not await people_changes.still_opens(
            connection, person.person_id, password_hash
        ):
            raise Refused(
                409, "Changed meanwhile", "Your password was changed while you signed in. Try again."
            )
        if old is not None:
            await sessions.end(connection, old)
        await sessions.begin(
            connection, token, person.person_id, now=visit.now, lasts=lasts, address=visit.address
        )
        visit.someone, visit.token = person, token
        await access_log.add(connection, visit.entry(Action.SIGN_IN, detail={"way": way}))
    response = _landing(visit, next_page, carried)
    set_cookie(response, SESSION_COOKIE, token)
    drop_cookie(response, FORM_COOKIE)
    return response


def local(target: str | None) -> str:
    """A path of this site, or the start page: never another site."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")):
        return START
    parts = urlsplit(target)
    return START if parts.scheme or parts.netloc or "\\" in target or not target.isprintable() else target


def _landing(visit: Visit, next_page: str, carried: Carried | None) -> Response:
    if carried is not None:
        return visit.render("carried.html", carried=carried, away=False)
    return RedirectResponse(local(next_page), status_code=303)
