"""The page on which people set up their second factor, or remove it."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import records, second_factors, sessions
from db.people.second_factors import SecondFactor
from review.auth import credentials, second_factor
from review.auth.second_factor import opened, sealed
from review.auth.sign_in_code import CODE_CHARS, check_code
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.typed.problems import button_problem

PAGES_WITHOUT_FACTOR: Final = frozenset(
    {"second_factor", "second_factor_post", "profile", "password", "password_post", "sign_out"}
)
"""Pages open to a person who must set up a second factor first."""


async def change_second_factor(visit: Visit) -> Response:
    """Begin, confirm or remove; beginning and removing need the password again."""
    what = visit.field("what")
    if not visit.person.has_password:
        raise Refused(403, "No password here", "You sign in at the identity provider.")
    if what == "begin":
        return await _begin(visit)
    if what == "confirm":
        return await _confirm(visit)
    if what == "remove":
        return await _remove(visit)
    raise Refused(400, "What to do", button_problem())


async def _begin(visit: Visit) -> Response:
    if problem := await _password_problem(visit):
        return await show_second_factor(visit, problem=problem)
    async with visit.store.writing() as connection:
        person_id = visit.person.person_id
        stored = sealed(second_factor.new_secret(), person_id, visit.site.settings)
        if not await second_factors.propose_factor(connection, person_id, stored):
            raise Refused(409, "Set up already", "Remove the second factor before you set up another one.")
        detail = {"changed": "second factor proposed"}
        await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    return visit.redirect("second_factor")


async def _confirm(visit: Visit) -> Response:
    person_id, codes = visit.person.person_id, second_factor.new_recovery_codes()
    async with visit.store.writing() as connection:
        factor = await second_factors.get_factor(connection, person_id)
        if factor is None or factor.confirmed:
            raise Refused(409, "Changed meanwhile", "The second factor was set up or removed meanwhile.")
        secret = opened(factor.secret, person_id, visit.site.settings)
        step = second_factor.matching_step(secret, visit.field("code")[:CODE_CHARS], visit.now)
        confirmed = step is not None and await second_factors.confirm_factor(
            connection,
            person_id,
            factor.secret,
            step=step,
            recovery_hashes=[second_factors.recovery_hash(code) for code in codes],
            now=visit.now,
        )
        if confirmed:
            ended = await sessions.end_other_sessions(connection, person_id, visit.token)
            detail = {"changed": "second factor set up", "sessions": ended}
            await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    if not confirmed:
        return await show_second_factor(
            visit, problem=_("The code is wrong. Check the clock of your device.")
        )
    return await show_second_factor(visit, codes=codes)


async def _remove(visit: Visit) -> Response:
    if problem := await _password_problem(visit):
        return await show_second_factor(visit, problem=problem)
    if not await _may_remove(visit):
        return await show_second_factor(visit, problem=_("The code is wrong or used."))
    async with visit.store.writing() as connection:
        await second_factors.remove_factor(connection, visit.person.person_id)
        detail = {"changed": "second factor removed"}
        await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    return visit.redirect("second_factor")


async def _may_remove(visit: Visit) -> bool:
    """Whether the code is right, or no code is needed; wrong codes count as failed sign-ins.

    Raises:
        Refused: 429, too many codes were wrong.
    """
    async with visit.store.reading() as connection:
        factor = await second_factors.get_factor(connection, visit.person.person_id)
        found = await records.get_credentials(connection, visit.person.login)
    if factor is None or found is None:
        return False
    if not factor.confirmed:
        return True
    wait_s, way = await check_code(visit, found, visit.field("code")[:CODE_CHARS])
    if wait_s:
        raise credentials.too_many_attempts(wait_s)
    return bool(way)


async def _password_problem(visit: Visit) -> str:
    """Why the password in the form is refused, or an empty text."""
    checked = await credentials.check_credentials(visit, visit.person.login, visit.field("password"))
    if checked.wait_s:
        raise credentials.too_many_attempts(checked.wait_s)
    return "" if checked.person is not None else _("The password is wrong.")


async def show_second_factor(visit: Visit, *, problem: str = "", codes: tuple[str, ...] = ()) -> Response:
    """The page: whether the factor is on, and the key while the factor waits for its first code."""
    async with visit.store.reading() as connection:
        factor = await second_factors.get_factor(connection, visit.person.person_id)
    waits: SecondFactor | None = factor if factor is not None and not factor.confirmed else None
    secret = opened(waits.secret, visit.person.person_id, visit.site.settings) if waits else b""
    return visit.render(
        "auth/second_factor.html",
        status=400 if problem else 200,
        problem=problem,
        factor=factor if factor is not None and factor.confirmed else None,
        key=second_factor.key_text(secret) if waits else "",
        image=second_factor.key_image(secret, visit.person.login) if waits else "",
        codes=codes,
        demanded=visit.must_have_factor,
    )
