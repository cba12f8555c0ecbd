"""Checks a login and a password: attempts are counted, unknown logins take as long as known ones."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import changes, records, sign_ins
from db.people.records import Credentials, Person
from db.people.sign_ins import FailedTries
from review.auth import passwords
from review.http.visit import Refused, Visit, set_cookie
from review.languages import ngettext

FREE_TRIES: Final = 5
FIRST_WAIT_S: Final = 30
LONGEST_WAIT_S: Final = 900
"""From the tenth failed attempt in a row: 30 s doubled five times, capped at 15 minutes."""
WINDOW: Final = timedelta(minutes=5)
FROM_ADDRESS: Final = 30
"""Failed attempts from one address in ``WINDOW``: an office behind one address has some."""
OVERALL: Final = 600
"""Failed attempts from everywhere in ``WINDOW``: two a second; each costs 50 ms of a core."""


def delay_s(tries: FailedTries, *, now: datetime, known_device: bool) -> int:
    """Seconds until the next attempt is checked; 0 for now.

    A browser that has signed in before is counted separately: strangers who guess cannot lock it out.
    """
    waits = [_in_a_row(tries, now)]
    if not known_device and (tries.from_address >= FROM_ADDRESS or tries.overall >= OVERALL):
        waits.append(int(WINDOW.total_seconds()))
    return max(waits)


def _in_a_row(tries: FailedTries, now: datetime) -> int:
    over = tries.in_a_row - FREE_TRIES
    if over < 0 or tries.last is None:
        return 0
    whole = min(FIRST_WAIT_S << min(over, 10), LONGEST_WAIT_S)
    return max(0, math.ceil(whole - (now - tries.last).total_seconds()))


DEVICE_COOKIE: Final = "__Host-hushgate-device"
DEVICE_S: Final = 90 * 86_400
LOGIN_CHARS: Final = 200
NAME_CHARS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialCheck:
    """The result of a check.

    Attributes:
        person: the person, or None.
        password_hash: the stored one, with ``person``.
        known_device: True in a browser in which the person signed in before.
        wait_s: above 0 when nothing was checked, after too many failed attempts.
    """

    person: Person | None = None
    password_hash: str = ""
    known_device: bool = False
    wait_s: int = 0


async def check_credentials(visit: Visit, login: str, password: str) -> CredentialCheck:
    """Check a login and a password, unless too many recent attempts failed."""
    login = _normalised(login)
    async with visit.store.writing() as connection:
        found = await records.get_credentials(connection, login)
        device, address = known_device(visit, found), visit.network
        tries = await sign_ins.count_tries(
            connection, login, device=device, address=address, since=visit.now - WINDOW
        )
        if wait := delay_s(tries, now=visit.now, known_device=bool(device)):
            return CredentialCheck(wait_s=wait)
        number = await sign_ins.record_try(connection, login, device=device, address=address, now=visit.now)
    right = await passwords.password_matches(found.password_hash if found else None, password)
    if found is None or not right or found.person.disabled:
        # a password typed into the login field would stay in the log for auditors
        await visit.log(LoggedAction.SIGN_IN_REFUSED, detail={"login": login if found else "unknown"})
        return CredentialCheck()
    return await _succeed(visit, found, password, number, known=bool(device))


def too_many_attempts(wait_s: int) -> Refused:
    """The refusal while attempts are not checked."""
    text = ngettext(
        "Too many attempts failed. Wait %(num)s second, then try again.",
        "Too many attempts failed. Wait %(num)s seconds, then try again.",
        wait_s,
    ) % {"num": wait_s}
    return Refused(429, "Wait a little", text, retry_after_s=wait_s)


def remember_device(response: Response, person: Person, password_hash: str) -> None:
    """Count this browser's attempts separately from now on."""
    nonce = secrets.token_hex(8)
    value = f"{nonce}.{passwords.device_mark(password_hash, person.login, nonce)}"
    set_cookie(response, DEVICE_COOKIE, value, max_age=DEVICE_S)


async def _succeed(
    visit: Visit, found: Credentials, password: str, number: int, *, known: bool
) -> CredentialCheck:
    stored = found.password_hash or ""
    newer = await passwords.hash_password(password) if passwords.needs_rehash(stored) else None
    async with visit.store.writing() as connection:
        await sign_ins.record_success(connection, number)
        if newer is not None:
            await changes.rehash_password(connection, found.person.person_id, stored, newer)
    return CredentialCheck(person=found.person, password_hash=newer or stored, known_device=known)


def _normalised(login: str) -> str:
    login = login.strip().lower()
    return login if len(login) <= LOGIN_CHARS and login.isprintable() else ""


def known_device(visit: Visit, found: Credentials | None) -> str:
    """The mark of a browser in which this person signed in before, with the present password, or empty."""
    nonce, _, mark = visit.request.cookies.get(DEVICE_COOKIE, "").partition(".")
    if found is None or found.password_hash is None or not mark.isascii():
        return ""
    right = passwords.device_mark(found.password_hash, found.person.login, nonce)
    return nonce if secrets.compare_digest(right, mark) else ""
