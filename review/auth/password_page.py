"""The page on which a person replaces their password; a first password must be replaced first of all."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import changes
from review.auth import credentials, passwords
from review.http.visit import Refused, Visit
from review.languages import gettext as _

FIRST_PASSWORD_PAGES: Final = frozenset({"password", "password_post", "sign_out"})
"""Pages open to a person whose first password is not replaced yet."""


async def show_password_form(visit: Visit, *, status: int = 200, problem: str = "") -> Response:
    """The form."""
    return visit.render("password.html", status=status, problem=problem, least=passwords.LEAST_CHARS)


async def change_password(visit: Visit) -> Response:
    """Store a new password; the person's other sessions, API tokens, sign-in links and invitations end."""
    person, current, new = visit.person, visit.field("current"), visit.field("new")
    if not person.has_password:
        text = _("You sign in elsewhere. An administrator can give you a password.")
        raise Refused(403, "No password here", text)
    checked = await credentials.check_credentials(visit, person.login, current)
    if checked.wait_s:
        raise credentials.too_many_attempts(checked.wait_s)
    problem = passwords.new_password_problem(
        new,
        visit.field("again"),
        login=person.login,
        name=person.name,
        breached=visit.site.settings.breached_passwords,
    )
    if checked.person is None:
        problem = _("Current password: wrong.")
    elif new == current:
        problem = _("New password: expected a password other than the current one.")
    if problem:
        return await show_password_form(visit, status=400, problem=problem)
    stored = await passwords.hash_password(new)
    async with visit.store.writing() as connection:
        if not await changes.replace_password(connection, person.person_id, checked.password_hash, stored):
            raise Refused(409, "Changed meanwhile", "Your password was changed meanwhile. Sign in again.")
        ended = await changes.end_other_ways_in(connection, person.person_id, visit.token, now=visit.now)
        detail = {"changed": "own password"} | ended
        await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    response = visit.redirect("home" if person.must_change_password else "profile", "saved=password")
    credentials.remember_device(response, person, stored)
    return response
