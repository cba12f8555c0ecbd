"""Giving roles and first passwords: who gave a password must not come along to accounts of others."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from db import access_log, people, people_changes, sign_ins
from db.access_log import Entry
from db.jobs import Transaction
from db.people import Grant, Person
from review.people import granting, passwords
from review.web import Refused

BEYOND: Final = (
    "This person's password was given by somebody who does not administer the account, so it has to be"
    " replaced with the role. You would see the new one, and the person has roles beyond your accounts:"
    " somebody who administers every account can give the role."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What came of giving roles.

    Attributes:
        replaced: whether the old password, sessions and keys have ended.
        password: the first password that takes its place, to be shown once; empty when there is none.
    """

    replaced: bool = False
    password: str = ""


async def give_roles(
    connection: Transaction,
    person: Person,
    wanted: Sequence[Grant],
    *,
    giver: Person | None,
    line: Entry,
    now: datetime,
) -> Given:
    """Give roles, and write it down; a password that a stranger to the accounts may know is replaced first.

    The caller holds people (``people_changes.hold``) and has read ``person`` since. ``giver`` is None at the
    command line, which may do everything; ``line`` of the access log says who gives and what is told of it.

    Raises:
        Refused: 403 when the giver would see a password that opens accounts of others.
    """
    new = [each.user_id for each in wanted if each not in person.grants]
    known = bool(new) and await known_to_a_stranger(connection, person, new)
    if known and giver is not None and not granting.covers(giver, person):
        raise Refused(403, "Not allowed", BEYOND)
    for each in wanted:
        await people.grant(connection, person.person_id, each, granted_by=line.person)
    await access_log.add_for(connection, line, [each.user_id for each in wanted])
    if not known:
        return Given()
    password = "" if person.elsewhere else new_password()
    risen = replace(person, grants=(*person.grants, *wanted))
    told = replace(line, detail={"changed": "password replaced with the role", "login": person.login})
    await give_password(connection, risen, password, line=told, now=now)
    return Given(replaced=True, password=password)


def new_password() -> str:
    """96 random bits that a person can type once."""
    return secrets.token_urlsafe(12)


async def give_password(
    connection: Transaction, person: Person, password: str, *, line: Entry, now: datetime
) -> None:
    """Put a first password in the place of the old one, or nothing; every way in that they had ends."""
    stored = await passwords.hashed(password) if password else None
    await people_changes.give_password(connection, person, stored, given_by=line.person_id)
    await sign_ins.forget_tries(connection, person.login)
    ended = await people_changes.cast_out(connection, person.person_id, now=now)
    detail = {**line.detail, **ended}
    await access_log.add_for(connection, replace(line, detail=detail), person.accounts)


async def known_to_a_stranger(connection: Transaction, person: Person, accounts: Sequence[str]) -> bool:
    """Whether a person's password was given by somebody who does not administer all of these accounts."""
    if person.password_given_by is None:
        return False
    giver = await people.by_id(connection, person.password_given_by)
    return giver is None or giver.disabled or not all(granting.may_grant(giver, each) for each in accounts)
