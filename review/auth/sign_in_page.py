"""Sign-in with a password, sign-out, and the answer to visitors who are not signed in."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import sessions
from review.auth import credentials, form_replay, sign_in_code
from review.auth.form_replay import KeptForm
from review.auth.session_start import start_session
from review.http.named_routes import START, local_path
from review.http.visit import SESSION_COOKIE, Refused, Visit, drop_cookie
from review.languages import mark

WRONG: Final = mark("Login or password is wrong, or the person may not sign in.")


async def show_sign_in(visit: Visit) -> Response:
    """The sign-in page."""
    if visit.signed_in is not None:
        return visit.redirect("home")
    return _page(visit, next_page=local_path(visit.request.query_params.get("next")))


def ask_to_sign_in(visit: Visit) -> Response:
    """The sign-in form in place of a page; afterwards the page opens, with the form that was sent."""
    request = visit.request
    if request.method in {"GET", "HEAD"}:
        return _redirect_to_sign_in(visit)
    response = _page(visit, status=401, kept=form_replay.keep_form(request, visit.form), sent=True)
    if visit.partial:  # a fragment cannot hold the sign-in form: it replaces the page
        response.headers.update({"HX-Retarget": "body", "HX-Reswap": "innerHTML"})
    return response


async def submit_sign_in(visit: Visit) -> Response:
    """Check login and password; start a session when they match."""
    if not visit.site.settings.passwords_enabled:
        raise Refused(404, "Not found", "Passwords are switched off.")
    login, next_page = visit.field("login"), local_path(visit.field("next"))
    kept = form_replay.read_form(visit.request, visit.form.get("carried"))
    checked = await credentials.check_credentials(visit, login, visit.field("password"))
    person, password_hash = checked.person, checked.password_hash
    if checked.wait_s:
        wait = credentials.too_many_attempts(checked.wait_s)
        response = _page(visit, status=429, problem=wait.text, login=login, next_page=next_page, kept=kept)
        response.headers["Retry-After"] = str(checked.wait_s)
        return response
    if person is None:
        return _page(visit, status=401, problem=WRONG, login=login, next_page=next_page, kept=kept)
    if person.second_factor:
        return sign_in_code.ask_for_code(visit, person, password_hash, next_page=next_page, kept=kept)
    response = await start_session(
        visit,
        person,
        method="password",
        password_hash=password_hash,
        next_page=next_page,
        kept_form=kept,
        new_device=not checked.known_device,
    )
    credentials.remember_device(response, person, password_hash)
    return response


async def sign_out(visit: Visit) -> Response:
    """End the session."""
    async with visit.store.writing() as connection:
        await sessions.end_session(connection, visit.token)
        await visit.log(LoggedAction.SIGN_OUT, connection=connection)
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
    status: int = 200,
    problem: str = "",
    login: str = "",
    next_page: str = START,
    kept: KeptForm | None = None,
    sent: bool = False,
) -> Response:
    return visit.render(
        "sign_in.html", status=status, problem=problem, login=login, next=next_page, kept=kept, sent=sent
    )
