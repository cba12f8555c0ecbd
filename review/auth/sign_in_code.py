"""The second step of a sign-in with a password: a code of the person's second factor.

The form carries the login, an end and a signature by the password's hash: after a change of the
password, or after some minutes, the sign-in begins again.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import records, second_factors, sign_ins
from db.people.records import Credentials, Person
from review.auth import credentials, form_replay, second_factor
from review.auth.credentials import WINDOW, delay_s
from review.auth.form_replay import KeptForm
from review.auth.session_start import start_session
from review.http.named_routes import local_path
from review.http.numbers import whole_number
from review.http.visit import Refused, Visit
from review.languages import gettext as _

VALID_S: Final = 300
CODE_CHARS: Final = 40
SECONDS_DIGITS: Final = 12
BEGIN_AGAIN: Final = Refused(
    401, "Sign in again", "The password was entered more than five minutes ago, or changed meanwhile."
)


def ask_for_code(
    visit: Visit, person: Person, password_hash: str, *, next_page: str, kept: KeptForm | None
) -> Response:
    """The form for the code, after a right password."""
    ends = int(visit.now.timestamp()) + VALID_S
    mark = _mark(visit, password_hash, person.login, ends)
    return _page(visit, login=person.login, ends=ends, mark=mark, next_page=next_page, kept=kept)


async def submit_code(visit: Visit) -> Response:
    """Check the code; start a session when it is right."""
    login, mark = visit.field("login"), visit.field("mark")
    ends = whole_number(visit.field("ends"), digits=SECONDS_DIGITS) or 0  # 0 is past
    next_page = local_path(visit.field("next"))
    kept = form_replay.read_form(visit.request, visit.form.get("carried"))
    async with visit.store.reading() as connection:
        found = await records.get_credentials(connection, login)
    password_hash = _checked(visit, found, ends, mark)
    wait_s, way = await check_code(visit, found, visit.field("code")[:CODE_CHARS]) if found else (0, "")
    if found is None or not way:
        problem = credentials.too_many_attempts(wait_s).text if wait_s else _("The code is wrong or used.")
        response = _page(
            visit,
            status=429 if wait_s else 401,
            problem=problem,
            login=login,
            ends=ends,
            mark=mark,
            next_page=next_page,
            kept=kept,
        )
        if wait_s:
            response.headers["Retry-After"] = str(wait_s)
        return response
    response = await start_session(
        visit,
        found.person,
        method=f"password and {way}",
        password_hash=password_hash,
        next_page=next_page,
        kept_form=kept,
        new_device=not credentials.known_device(visit, found),
    )
    credentials.remember_device(response, found.person, password_hash)
    return response


def _checked(visit: Visit, found: Credentials | None, ends: int, mark: str) -> str:
    """The password's hash, when the form is of this browser, in time, and of the present password."""
    stored = found.password_hash if found and not found.person.disabled else None
    if stored is None or found is None or visit.now.timestamp() > ends:
        raise BEGIN_AGAIN
    right = _mark(visit, stored, found.person.login, ends)
    if not mark.isascii() or not hmac.compare_digest(right, mark):
        raise BEGIN_AGAIN
    return stored


async def check_code(visit: Visit, found: Credentials, code: str) -> tuple[int, str]:
    """Seconds to wait, and which kind of code is right; counted apart from attempts at the password.

    A right code is used up.
    """
    login, person_id = sign_ins.code_login(found.person.login), found.person.person_id
    device, address = credentials.known_device(visit, found), visit.network
    async with visit.store.writing() as connection:
        tries = await sign_ins.count_tries(
            connection, login, device=device, address=address, since=visit.now - WINDOW
        )
        if wait := delay_s(tries, now=visit.now, known_device=bool(device)):
            return wait, ""
        number = await sign_ins.record_try(connection, login, device=device, address=address, now=visit.now)
    async with visit.store.writing() as connection:
        factor = await second_factors.get_factor(connection, person_id)
        way = await second_factor.use_code(visit, connection, person_id, factor, code) if factor else ""
        if way:
            await sign_ins.record_success(connection, number)
        else:
            detail = {"login": found.person.login, "way": "second factor"}
            await visit.log(LoggedAction.SIGN_IN_REFUSED, connection=connection, detail=detail)
    return 0, way


def _mark(visit: Visit, stored: str, login: str, ends: int) -> str:
    message = f"hushgate second factor {login} {ends} {visit.csrf}".encode()
    return hmac.new(stored.encode(), message, hashlib.sha256).hexdigest()


def _page(
    visit: Visit,
    *,
    login: str,
    ends: int,
    mark: str,
    next_page: str,
    kept: KeptForm | None,
    status: int = 200,
    problem: str = "",
) -> Response:
    return visit.render(
        "auth/sign_in_code.html",
        status=status,
        problem=problem,
        login=login,
        ends=ends,
        mark=mark,
        next=next_page,
        kept=kept,
    )
