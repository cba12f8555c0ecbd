"""The people an administrator sees, and the roles an administrator gives: on their own accounts only."""

from __future__ import annotations

from db.people.records import EVERY_ACCOUNT, Person, RoleGrant
from review.access import Right, accounts_with


def administers_every_account(admin: Person) -> bool:
    """Whether an administrator also manages passwords and access; other administrators give roles only."""
    return accounts_with(admin, Right.ADMIN) is None


def may_see(admin: Person, person: Person) -> bool:
    """Whether a person is on the administrator's list: by a role on one of their accounts, or on all."""
    return administers_every_account(admin) or bool(visible_roles(admin, person))


def may_grant(admin: Person, user_id: str) -> bool:
    """Whether an administrator gives and takes roles on this account; ``*`` needs every account."""
    mine = accounts_with(admin, Right.ADMIN)
    return mine is None or (user_id != EVERY_ACCOUNT and user_id in mine)


def may_grant_all_of(admin: Person, person: Person) -> bool:
    """Whether an administrator gives and takes every role that a person has."""
    return all(may_grant(admin, user_id) for user_id in person.accounts)


def visible_roles(admin: Person, person: Person) -> tuple[RoleGrant, ...]:
    """The roles that an administrator sees: on their accounts, and on all."""
    if (mine := accounts_with(admin, Right.ADMIN)) is None:
        return person.grants
    visible = {*mine, EVERY_ACCOUNT}
    return tuple(each for each in person.grants if each.user_id in visible)
