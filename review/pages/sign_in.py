"""Signing in with a password, signing out, and what a person gets who is not signed in."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode, urlsplit

from starlette.responses import RedirectResponse, Response

from db import access_log, people, sessions
from db.access_log import Action
from db.people import Person
from review import passwords
from review.web import (
    FORM_COOKIE,
    SESSION_COOKIE,
    Refused,
    Visit,
    csrf_matches,
    new_token,
    set_cookie,
)

FIRST_PASSWORD_PAGES: Final = frozenset({"sign_out"})
"""What somebody may open whose first password is not replaced yet."""
WRONG: Final = "Login or password is wrong, or the person may not sign in."


async def form(visit: Visit) -> Response:
    """The sign-in page."""
    if visit.someone is not None:
        return visit.redirect("home")
    return visit.render(
        "sign_in.html", wrong="", login="", next=_local(visit.request.query_params.get("next"))
    )


def asked(visit: Visit) -> Response:
    """Instead of a page: the sign-in form, which leads back to it."""
    url = visit.request.url
    if visit.request.method == "GET":
        back = url.path + (f"?{url.query}" if url.query else "")
        return visit.redirect("sign_in", urlencode({"next": back}))
    return visit.render("sign_in.html", status=401, wrong="", login="", next="/")


async def submit(visit: Visit) -> Response:
    """Check login and password; a new session when they are right."""
    if not csrf_matches(visit.token, visit.form.get("csrf")):
        raise Refused(403, "The form is out of date", "Reload the sign-in page and try again.")
    login, password = str(visit.form.get("login", "")).strip(), str(visit.form.get("password", ""))
    next_page = _local(str(visit.form.get("next", "")))
    async with visit.store.reading() as connection:
        found = await people.by_login(connection, login)
    right = await passwords.matches(found.password_hash if found else None, password)
    if found is None or not right or found.person.disabled:
        await visit.log(Action.SIGN_IN_REFUSED, detail={"login": login[:200]})
        return visit.render("sign_in.html", status=401, wrong=WRONG, login=login, next=next_page)
    return await _begin(visit, found.person, next_page)


async def sign_out(visit: Visit) -> Response:
    """End the session."""
    async with visit.store.writing() as connection:
        await sessions.end(connection, visit.token)
        await access_log.add(connection, visit.entry(Action.SIGN_OUT))
    response = visit.redirect("sign_in")
    response.delete_cookie(SESSION_COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return response


async def person_of_key(_visit: Visit, _header: str) -> Person | None:
    """Who an API token belongs to."""
    return None


async def _begin(visit: Visit, person: Person, next_page: str) -> Response:
    token = new_token()
    async with visit.store.writing() as connection:
        await sessions.begin(
            connection,
            token,
            person.person_id,
            now=visit.now,
            lasts=timedelta(seconds=visit.site.settings.review_session_s),
            address=visit.address,
        )
        visit.someone = person
        await access_log.add(connection, visit.entry(Action.SIGN_IN))
    response = RedirectResponse(next_page, status_code=303)
    set_cookie(response, SESSION_COOKIE, token)
    response.delete_cookie(FORM_COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return response


def _local(target: str | None) -> str:
    """A path of this site, or the start page: never another site."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")):
        return "/"
    parts = urlsplit(target)
    return "/" if parts.scheme or parts.netloc or "\\" in target or not target.isprintable() else target
