"""What an administrator may do to whom: on their own accounts, and never above themselves."""

from __future__ import annotations

from db.people import EVERY_ACCOUNT, Grant, Person
from review.access import Right, accounts_with


def sees(admin: Person, person: Person) -> bool:
    """Whether a person is on the administrator's list: by a role on one of their accounts, or on all."""
    mine = accounts_with(admin, Right.ADMIN)
    return mine is None or any(each.user_id in {*mine, EVERY_ACCOUNT} for each in person.grants)


def may_grant(admin: Person, user_id: str) -> bool:
    """Whether an administrator gives and takes roles on this account; on ``*`` only who administers all."""
    mine = accounts_with(admin, Right.ADMIN)
    return mine is None or (user_id != EVERY_ACCOUNT and user_id in mine)


def may_manage(admin: Person, person: Person) -> bool:
    """Whether an administrator resets a password, disables, and so on.

    Only of people who are nothing beyond the administrator's accounts: whoever resets a password can sign in
    with it.
    """
    mine = accounts_with(admin, Right.ADMIN)
    return mine is None or (bool(person.grants) and covers(admin, person))


def covers(admin: Person, person: Person) -> bool:
    """Whether an administrator gives and takes every role that a person has."""
    return all(may_grant(admin, user_id) for user_id in person.accounts)


def shown(admin: Person, person: Person) -> tuple[Grant, ...]:
    """The roles that an administrator is told about: on their accounts, and on all."""
    mine = accounts_with(admin, Right.ADMIN)
    return tuple(each for each in person.grants if mine is None or each.user_id in {*mine, EVERY_ACCOUNT})
