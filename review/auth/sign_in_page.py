"""Sign-in with a password, sign-out, and the answer to visitors who are not signed in."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db import access_log
from db.access_log import LoggedAction
from db.people import sessions
from review.auth import credentials, form_replay
from review.auth.form_replay import KeptForm
from review.auth.session_start import START, local_path, start_session
from review.http.visit import (
    SESSION_COOKIE,
    Refused,
    Visit,
    drop_cookie,
)

WRONG: Final = "Login or password is wrong, or the person may not sign in."


async def show_sign_in(visit: Visit) -> Response:
    """The sign-in page."""
    if visit.someone is not None:
        return visit.redirect("home")
    return _page(visit, status=200, next_page=local_path(visit.request.query_params.get("next")))


def ask_to_sign_in(visit: Visit) -> Response:
    """The sign-in form in place of a page; it leads back and keeps a form that was sent."""
    request = visit.request
    if request.method in {"GET", "HEAD"}:
        return _redirect_to_sign_in(visit)
    response = _page(visit, status=401, kept=form_replay.keep_form(request, visit.form), sent=True)
    if visit.partial:  # a fragment cannot hold the sign-in form: it replaces the page
        response.headers.update({"HX-Retarget": "body", "HX-Reswap": "innerHTML"})
    return response


async def submit_sign_in(visit: Visit) -> Response:
    """Check login and password; start a session when they match.

    Raises:
        Refused: 404 when passwords are switched off.
    """
    if not visit.site.settings.passwords_enabled:
        raise Refused(404, "Not found", "Passwords are switched off.")
    login, next_page = str(visit.form.get("login", "")), local_path(str(visit.form.get("next", "")))
    kept = form_replay.read_form(visit.request, visit.form.get("carried"))
    checked = await credentials.check_credentials(visit, login, str(visit.form.get("password", "")))
    if checked.wait_s:
        wait = f"Too many attempts failed. Wait {checked.wait_s} seconds, then try again."
        response = _page(visit, status=429, wrong=wait, login=login, next_page=next_page, kept=kept)
        response.headers["Retry-After"] = str(checked.wait_s)
        return response
    if checked.person is None:
        return _page(visit, status=401, wrong=WRONG, login=login, next_page=next_page, kept=kept)
    response = await start_session(
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
        await sessions.end_session(connection, visit.token)
        await access_log.append_entry(connection, visit.entry(LoggedAction.SIGN_OUT))
    response = visit.redirect("sign_in")
    drop_cookie(response, SESSION_COOKIE)
    return response


def _redirect_to_sign_in(visit: Visit) -> Response:
    url = visit.request.url
    back = url.path + (f"?{url.query}" if url.query else "")
    if not visit.partial:
        return visit.redirect("sign_in", urlencode({"next": local_path(back)}))
    response = Response(status_code=401)  # a fragment: htmx loads the sign-in page
    response.headers["HX-Redirect"] = visit.url("sign_in")
    return response


def _page(
    visit: Visit,
    *,
    status: int,
    wrong: str = "",
    login: str = "",
    next_page: str = START,
    kept: KeptForm | None = None,
    sent: bool = False,
) -> Response:
    return visit.render(
        "sign_in.html", status=status, wrong=wrong, login=login, next=next_page, kept=kept, sent=sent
    )
