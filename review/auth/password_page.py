"""The page on which a person replaces their password; a first password must be replaced first of all."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from db import access_log
from db.access_log import LoggedAction
from db.people import changes
from review.auth import credentials, passwords
from review.http.visit import Refused, Visit

FIRST_PASSWORD_PAGES: Final = frozenset({"password", "password_post", "sign_out"})
"""Pages open to a person whose first password is not replaced yet."""


async def show_password_form(visit: Visit) -> Response:
    """The form."""
    return _page(visit, status=200)


async def change_password(visit: Visit) -> Response:
    """Store a new password; the person's other sessions, API tokens, sign-in links and invitations end.

    Raises:
        Refused: 403 without a password; 409 when it changed meanwhile; 429 after failed attempts.
    """
    person, new = visit.person, str(visit.form.get("new", ""))
    if not person.has_password:
        raise Refused(
            403, "No password here", "You sign in elsewhere. An administrator can give you a password."
        )
    checked = await credentials.check_credentials(visit, person.login, str(visit.form.get("current", "")))
    if checked.wait_s:
        text = f"Too many attempts failed. Wait {checked.wait_s} seconds, then try again."
        raise Refused(429, "Wait a little", text, retry_after_s=checked.wait_s)
    if checked.person is None:
        return _page(visit, status=400, wrong="Current password: wrong.")
    if problem := _problem(visit, new):
        return _page(visit, status=400, wrong=problem)
    stored = await passwords.hash_password(new)
    async with visit.store.writing() as connection:
        if not await changes.replace_password(connection, person.person_id, checked.password_hash, stored):
            raise Refused(409, "Changed meanwhile", "Your password was changed meanwhile. Sign in again.")
        ended = await changes.end_other_ways_in(connection, person.person_id, visit.token, now=visit.now)
        detail = {"changed": "own password"} | ended
        await access_log.append_entry(connection, visit.entry(LoggedAction.PEOPLE, detail=detail))
    response = visit.redirect("home" if person.must_change_password else "profile", "saved=password")
    credentials.remember_device(response, person, stored)
    return response


def _problem(visit: Visit, new: str) -> str:
    person = visit.person
    if new != str(visit.form.get("again", "")):
        return "New password, again: it is not the same as the new password."
    if new == str(visit.form.get("current", "")):
        return "New password: expected a password other than the current one."
    found = passwords.password_problem(new, login=person.login, name=person.name)
    return f"New password: {found}." if found else ""


def _page(visit: Visit, *, status: int, wrong: str = "") -> Response:
    return visit.render("password.html", status=status, wrong=wrong, least=passwords.LEAST_CHARS)
