"""Roles and first passwords: a password opens no account that its giver does not administer."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from db import access_log
from db.access_log import LogEntry
from db.connection import Connection
from db.people import changes, records, sign_ins
from db.people.records import Person, RoleGrant
from review.auth import grant_limits, passwords


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantResult:
    """What giving roles changed.

    Attributes:
        replaced: True when the old password, sessions and API tokens have ended.
        password: the new first password, to be shown once; empty when there is none.
    """

    replaced: bool = False
    password: str = ""


async def give_roles(
    connection: Connection,
    person: Person,
    grants: Sequence[RoleGrant],
    *,
    entry: LogEntry,
    now: datetime,
) -> GrantResult:
    """Give roles as an administrator of every account; a password is replaced if its giver lacks an account.

    The caller holds ``changes.lock_roles`` and has read ``person`` since. ``entry`` goes to the access log.
    """
    new = [each.user_id for each in grants if each not in person.grants]
    known = bool(new) and await giver_lacks_account(connection, person, new)
    for each in grants:
        await records.grant_role(connection, person.person_id, each, granted_by=entry.person)
    await access_log.append_entries_for_accounts(connection, entry, [each.user_id for each in grants])
    if not known:
        return GrantResult()
    password = "" if person.elsewhere else new_password()
    promoted = replace(person, grants=(*person.grants, *grants))
    ended = replace(entry, detail={"changed": "password replaced with the role", "login": person.login})
    await give_password(connection, promoted, password, entry=ended, now=now)
    return GrantResult(replaced=True, password=password)


def new_password() -> str:
    """96 random bits that a person can type once."""
    return secrets.token_urlsafe(12)


async def give_password(
    connection: Connection, person: Person, password: str, *, entry: LogEntry, now: datetime
) -> None:
    """Store a first password, or remove the password; sessions, API tokens and links end."""
    stored = await passwords.hash_password(password) if password else None
    await changes.give_password(connection, person, stored, given_by=entry.person_id)
    await sign_ins.forget_tries(connection, person.login)
    ended = await changes.revoke_access(connection, person.person_id, now=now)
    entry = replace(entry, detail={**entry.detail, **ended})
    await access_log.append_entries_for_accounts(connection, entry, person.accounts)


async def giver_lacks_account(connection: Connection, person: Person, accounts: Sequence[str]) -> bool:
    """Whether the giver of a person's password does not administer all of these accounts, now."""
    if person.password_given_by is None:
        return False
    giver = await records.get_person(connection, person.password_given_by)
    return (
        giver is None or giver.disabled or not all(grant_limits.may_grant(giver, each) for each in accounts)
    )
