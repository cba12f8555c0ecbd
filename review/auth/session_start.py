"""Starts a session, and answers with the page after sign-in."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from db import access_log
from db.access_log import LoggedAction
from db.people import changes, sessions
from db.people.records import Person
from review.auth.form_replay import KeptForm
from review.http.visit import (
    FORM_COOKIE,
    SESSION_COOKIE,
    Refused,
    Visit,
    drop_cookie,
    new_token,
    set_cookie,
)

START: Final = "/"


async def start_session(
    visit: Visit,
    person: Person,
    *,
    way: str,
    password_hash: str | None = None,
    next_page: str = START,
    carried: KeptForm | None = None,
) -> Response:
    """Begin a session under a new cookie and redirect; a form that was kept is shown first.

    ``way`` is for the access log: password, link or oidc. ``password_hash`` is the hash that the
    password was checked against, if any.

    Raises:
        Refused: 409 when the password was changed, or the person disabled, since the check.
    """
    token, old = new_token(), visit.request.cookies.get(SESSION_COOKIE)
    valid_for = timedelta(seconds=visit.site.settings.review_session_s)
    async with visit.store.writing() as connection:
        if password_hash is not None and not await changes.password_is_current(
            connection, person.person_id, password_hash
        ):
            raise Refused(
                409, "Changed meanwhile", "Your password was changed while you signed in. Try again."
            )
        if old is not None:
            await sessions.end_session(connection, old)
        await sessions.start_session(
            connection, token, person.person_id, now=visit.now, lasts=valid_for, address=visit.address
        )
        visit.someone, visit.token = person, token
        await access_log.append_entry(connection, visit.entry(LoggedAction.SIGN_IN, detail={"way": way}))
    response = _landing(visit, next_page, carried)
    set_cookie(response, SESSION_COOKIE, token)
    drop_cookie(response, FORM_COOKIE)
    return response


def local_path(target: str | None) -> str:
    """The target when it is a path of this site, else the start page."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")):
        return START
    parts = urlsplit(target)
    return START if parts.scheme or parts.netloc or "\\" in target or not target.isprintable() else target


def _landing(visit: Visit, next_page: str, carried: KeptForm | None) -> Response:
    if carried is not None:
        return visit.render("carried.html", carried=carried, away=False)
    return RedirectResponse(local_path(next_page), status_code=303)
