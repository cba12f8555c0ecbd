"""Starts a session and answers with the page after sign-in; checks that a session is still open."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from db.access_log import LoggedAction
from db.connection import Connection
from db.people import changes, sessions
from db.people.records import Person
from review.auth.form_replay import KeptForm
from review.http.named_routes import START, local_path
from review.http.visit import (
    FORM_COOKIE,
    SESSION_COOKIE,
    Refused,
    Visit,
    drop_cookie,
    new_token,
    set_cookie,
)
from review.languages import gettext as _


async def start_session(
    visit: Visit,
    person: Person,
    *,
    method: str,
    password_hash: str | None = None,
    next_page: str = START,
    kept_form: KeptForm | None = None,
    new_device: bool = False,
    provider_session: str | None = None,
) -> Response:
    """Begin a session under a new cookie and redirect; a form that was kept is shown first.

    ``method`` is for the access log: password, password and code, link or oidc. ``password_hash`` is the
    hash that the password was checked against, if any: 409 when it is no longer the person's. With
    ``new_device`` the other sessions of the person show this sign-in. ``provider_session`` is the
    identity provider's name of its session, which it may end.
    """
    token, old, person_id = new_token(), visit.request.cookies.get(SESSION_COOKIE), person.person_id
    async with visit.store.writing() as connection:
        if password_hash is not None and not await changes.password_is_current(
            connection, person_id, password_hash
        ):
            text = _("Your password was changed while you signed in. Try again.")
            raise Refused(409, "Changed meanwhile", text)
        if old is not None:
            await sessions.end_session(connection, old)
        await sessions.start_session(
            connection,
            token,
            person_id,
            now=visit.now,
            lasts=sessions.LONGEST,
            address=visit.address,
            new_device=new_device,
            provider_session=provider_session,
        )
        visit.signed_in, visit.token = person, token
        await visit.log(LoggedAction.SIGN_IN, connection=connection, detail={"way": method})
    response: Response = RedirectResponse(local_path(next_page), status_code=303)
    if kept_form is not None:
        response = visit.render("send_again.html", form=kept_form, database_down=False)
    set_cookie(response, SESSION_COOKIE, token)
    drop_cookie(response, FORM_COOKIE)
    return response


async def require_session(visit: Visit, connection: Connection) -> None:
    """Refuse (401) when the session has ended since the request began; else it lasts until the commit."""
    if not await sessions.lock_session(connection, visit.token):
        raise Refused(401, "Sign in first", "Your session has ended.")
