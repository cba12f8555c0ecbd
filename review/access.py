"""What people may do: rights, the roles that hold them, and on which accounts."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from db.people import EVERY_ACCOUNT, Person, Role


class Right(StrEnum):
    """One kind of thing that a page may ask for."""

    SIGNED_IN = "signed_in"
    """One's own profile: everybody who is signed in, with or without a role."""
    VIEW = "view"
    REVIEW = "review"
    EXPORT = "export"
    LEAD = "lead"
    EDIT_RULES = "edit_rules"
    ADMIN = "admin"
    AUDIT = "audit"


RIGHTS: Final[dict[Role, frozenset[Right]]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.REVIEWER: frozenset({Right.VIEW, Right.REVIEW}),
    Role.LEAD: frozenset({Right.VIEW, Right.REVIEW, Right.EXPORT, Right.LEAD}),
    Role.RULE_EDITOR: frozenset({Right.VIEW, Right.EDIT_RULES}),
    Role.ACCOUNT_ADMIN: frozenset({Right.VIEW, Right.EDIT_RULES, Right.ADMIN}),
    Role.AUDITOR: frozenset({Right.VIEW, Right.EXPORT, Right.AUDIT}),
}


DEEDS: Final[dict[Right, str]] = {
    Right.SIGNED_IN: "open pages of your own",
    Right.VIEW: "see decisions",
    Right.REVIEW: "review decisions",
    Right.EXPORT: "export decisions",
    Right.LEAD: "open queues, review many at once or give known answers",
    Right.EDIT_RULES: "change rules and documents",
    Right.ADMIN: "change settings or people",
    Right.AUDIT: "read the access log",
}
"""What each right lets people do, after "may"."""


def missing(right: Right, user_id: str | None = None) -> str:
    """What somebody is told who lacks a right, on one account or on all; and who can help."""
    *most, last = (role.value.replace("_", " ") for role, held in RIGHTS.items() if right in held)
    roles = f"{', '.join(most)} or {last}" if most else last
    if user_id is None:
        return f"You may not {DEEDS[right]} on any account. An account's administrators can make you {roles}."
    return f"You may not {DEEDS[right]} on account {user_id}. Its administrators can make you {roles}."


def accounts_with(person: Person, right: Right) -> tuple[str, ...] | None:
    """The accounts where a person has a right: None for every account, an empty tuple for nowhere."""
    where = {grant.user_id for grant in person.grants if right in RIGHTS[grant.role]}
    return None if EVERY_ACCOUNT in where else tuple(sorted(where))


def may(person: Person, right: Right, user_id: str) -> bool:
    """True when a person has a right on one account."""
    where = accounts_with(person, right)
    return where is None or user_id in where


def may_somewhere(person: Person, right: Right) -> bool:
    """True when a person has a right on any account at all."""
    return right is Right.SIGNED_IN or accounts_with(person, right) != ()
