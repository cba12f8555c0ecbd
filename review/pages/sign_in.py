"""Signing in with a password, signing out, and what a person gets who is not signed in."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db import access_log, sessions
from db.access_log import Action
from review.people import carried, credentials
from review.people.carried import Carried
from review.people.entering import START, enter, local
from review.web import SESSION_COOKIE, Refused, Visit, drop_cookie

WRONG: Final = "Login or password is wrong, or the person may not sign in."


async def form(visit: Visit) -> Response:
    """The sign-in page."""
    if visit.someone is not None:
        return visit.redirect("home")
    return _page(visit, status=200, next_page=local(visit.request.query_params.get("next")))


def asked(visit: Visit) -> Response:
    """Instead of a page: the sign-in form, which leads back to it and keeps what was sent."""
    request = visit.request
    if request.method in {"GET", "HEAD"}:
        return _asked_to_read(visit)
    response = _page(visit, status=401, kept=carried.of_request(request, visit.form), sent=True)
    if visit.partial:  # a piece of a page cannot hold the sign-in form: it takes the page's place
        response.headers.update({"HX-Retarget": "body", "HX-Reswap": "innerHTML"})
    return response


async def submit(visit: Visit) -> Response:
    """Check login and password; a new session when they are right.

    Raises:
        Refused: 404 where people have no passwords.
    """
    if not visit.site.settings.passwords_enabled:
        raise Refused(404, "Not found", "There are no passwords here.")
    login, next_page = str(visit.form.get("login", "")), local(str(visit.form.get("next", "")))
    kept = carried.from_text(visit.request, visit.form.get("carried"))
    checked = await credentials.check(visit, login, str(visit.form.get("password", "")))
    if checked.wait_s:
        wait = f"Too many tries went wrong. Wait {checked.wait_s} seconds, then try again."
        response = _page(visit, status=429, wrong=wait, login=login, next_page=next_page, kept=kept)
        response.headers["Retry-After"] = str(checked.wait_s)
        return response
    if checked.person is None:
        return _page(visit, status=401, wrong=WRONG, login=login, next_page=next_page, kept=kept)
    response = await enter(
        visit,
        checked.person,
        way="password",
        password_hash=checked.password_hash,
        next_page=next_page,
        carried=kept,
    )
    credentials.remember_device(response, checked.person, checked.password_hash)
    return response


async def sign_out(visit: Visit) -> Response:
    """End the session."""
    async with visit.store.writing() as connection:
        await sessions.end(connection, visit.token)
        await access_log.add(connection, visit.entry(Action.SIGN_OUT))
    response = visit.redirect("sign_in")
    drop_cookie(response, SESSION_COOKIE)
    return response


def _asked_to_read(visit: Visit) -> Response:
    url = visit.request.url
    back = url.path + (f"?{url.query}" if url.query else "")
    if not visit.partial:
        return visit.redirect("sign_in", urlencode({"next": local(back)}))
    response = Response(status_code=401)  # a piece of a page: the whole page goes to the sign-in form
    response.headers["HX-Redirect"] = visit.url("sign_in")
    return response


def _page(
    visit: Visit,
    *,
    status: int,
    wrong: str = "",
    login: str = "",
    next_page: str = START,
    kept: Carried | None = None,
    sent: bool = False,
) -> Response:
    return visit.render(
        "sign_in.html", status=status, wrong=wrong, login=login, next=next_page, kept=kept, sent=sent
    )
