"""Replacing one's password; a first password has to be replaced before anything else."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from db import access_log, people_changes, sessions
from db.access_log import Action
from review.people import credentials, passwords
from review.web import Refused, Visit

FIRST_PASSWORD_PAGES: Final = frozenset({"password", "password_post", "sign_out"})
"""What somebody may open whose first password is not replaced yet."""


async def form(visit: Visit) -> Response:
    """The form."""
    return _page(visit, status=200)


async def change(visit: Visit) -> Response:
    """Store another password and end the person's other sessions.

    Raises:
        Refused: 403 for people who have no password here; 409 when it changed; 429 after wrong ones.
    """
    person, new = visit.person, str(visit.form.get("new", ""))
    if not person.has_password:
        raise Refused(
            403, "No password here", "You sign in elsewhere. An administrator can give you a password."
        )
    checked = await credentials.check(visit, person.login, str(visit.form.get("current", "")))
    if checked.wait_s:
        text = f"Too many tries went wrong. Wait {checked.wait_s} seconds, then try again."
        raise Refused(429, "Wait a little", text, retry_after_s=checked.wait_s)
    if checked.person is None:
        return _page(visit, status=400, wrong="Current password: this is not it.")
    if problem := _problem(visit, new):
        return _page(visit, status=400, wrong=problem)
    stored = await passwords.hashed(new)
    async with visit.store.writing() as connection:
        if not await people_changes.replace_password(
            connection, person.person_id, checked.password_hash, stored
        ):
            raise Refused(
                409, "Changed meanwhile", "Your password was changed while you wrote. Sign in anew."
            )
        ended = await sessions.end_others(connection, person.person_id, visit.token)
        detail = {"changed": "own password", "sessions_ended": ended}
        await access_log.add(connection, visit.entry(Action.PEOPLE, detail=detail))
    response = visit.redirect("home" if person.must_change_password else "profile", "saved=password")
    credentials.remember_device(response, person, stored)
    return response


def _problem(visit: Visit, new: str) -> str:
    person = visit.person
    if new != str(visit.form.get("again", "")):
        return "New password, again: it is not the same as the new password."
    if new == str(visit.form.get("current", "")):
        return "New password: expected another one than the current one."
    found = passwords.problem(new, login=person.login, name=person.name)
    return f"New password: {found}." if found else ""


def _page(visit: Visit, *, status: int, wrong: str = "") -> Response:
    return visit.render("password.html", status=status, wrong=wrong, least=passwords.LEAST_CHARS)
