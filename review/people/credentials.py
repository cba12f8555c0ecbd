"""Whether a login and a password belong together: counted, slow for everybody alike."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from db import people, people_changes, sign_ins
from db.access_log import Action
from db.people import Credentials, Person
from review.people import passwords
from review.people.waits import WINDOW, wait_s
from review.web import Visit, set_cookie

DEVICE_COOKIE: Final = "__Host-hushgate-device"
DEVICE_S: Final = 90 * 86_400
LOGIN_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of it.

    Attributes:
        person: who it is, or None.
        password_hash: the stored one, when ``person`` is there.
        wait_s: above 0 when nothing was judged, as too many tries went wrong before.
    """

    person: Person | None = None
    password_hash: str = ""
    wait_s: int = 0


async def check(visit: Visit, login: str, password: str) -> Checked:
    """Judge a login and a password, unless too many were wrong lately."""
    login = _usual(login)
    async with visit.store.writing() as connection:
        found = await people.by_login(connection, login)
        device, address = _device(visit, found), visit.address
        tries = await sign_ins.tries(
            connection, login, device=device, address=address, since=visit.now - WINDOW
        )
        if wait := wait_s(tries, now=visit.now, known_device=bool(device)):
            return Checked(wait_s=wait)
        number = await sign_ins.begin_try(connection, login, device=device, address=address, now=visit.now)
    right = await passwords.matches(found.password_hash if found else None, password)
    if found is None or not right or found.person.disabled:
        # somebody's password, typed into the wrong field, would be read by auditors for ever
        await visit.log(Action.SIGN_IN_REFUSED, detail={"login": login if found else "unknown"})
        return Checked()
    return await _let_in(visit, found, password, number)


def remember_device(response: Response, person: Person, password_hash: str) -> None:
    """Let this browser be counted by itself from now on."""
    nonce = secrets.token_hex(8)
    value = f"{nonce}.{passwords.device_mark(password_hash, person.login, nonce)}"
    set_cookie(response, DEVICE_COOKIE, value, max_age=DEVICE_S)


async def _let_in(visit: Visit, found: Credentials, password: str, number: int) -> Checked:
    stored = found.password_hash or ""
    newer = await passwords.hashed(password) if passwords.outdated(stored) else None
    async with visit.store.writing() as connection:
        await sign_ins.worked(connection, number)
        if newer is not None:
            await people_changes.rehash(connection, found.person.person_id, stored, newer)
    return Checked(person=found.person, password_hash=newer or stored)


def _usual(login: str) -> str:
    login = login.strip().lower()
    return login if len(login) <= LOGIN_CHARS and login.isprintable() else ""


def _device(visit: Visit, found: Credentials | None) -> str:
    nonce, _, mark = visit.request.cookies.get(DEVICE_COOKIE, "").partition(".")
    if found is None or found.password_hash is None or not mark.isascii():
        return ""
    right = passwords.device_mark(found.password_hash, found.person.login, nonce)
    return nonce if secrets.compare_digest(right, mark) else ""
