"""Access rights of people: rights, the roles that hold them, and the accounts."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT, Person, Role


class Right(StrEnum):
    """A right that a page may require."""

    SIGNED_IN = "signed_in"
    """The own profile: every signed-in person, with or without a role."""
    VIEW = "view"
    REVIEW = "review"
    EXPORT = "export"
    LEAD = "lead"
    EDIT_RULES = "edit_rules"
    ADMIN = "admin"
    AUDIT = "audit"
    PUBLISH = "publish"


RIGHTS: Final[dict[Role, frozenset[Right]]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.REVIEWER: frozenset({Right.VIEW, Right.REVIEW}),
    Role.LEAD: frozenset({Right.VIEW, Right.REVIEW, Right.EXPORT, Right.LEAD}),
    Role.RULE_EDITOR: frozenset({Right.VIEW, Right.EDIT_RULES}),
    Role.ACCOUNT_ADMIN: frozenset({Right.VIEW, Right.EDIT_RULES, Right.ADMIN, Right.PUBLISH}),
    Role.AUDITOR: frozenset({Right.VIEW, Right.EXPORT, Right.AUDIT}),
    Role.OWNER: frozenset(
        {Right.VIEW, Right.REVIEW, Right.EXPORT, Right.EDIT_RULES, Right.ADMIN, Right.PUBLISH}
    ),
}


ACTIONS: Final[dict[Right, str]] = {
    Right.SIGNED_IN: "open pages of your own",
    Right.VIEW: "see decisions",
    Right.REVIEW: "review decisions",
    Right.EXPORT: "export decisions",
    Right.LEAD: "open queues, review many at once or give known answers",
    Right.EDIT_RULES: "change rules and documents",
    Right.ADMIN: "change settings or people",
    Right.AUDIT: "read the access log",
    Right.PUBLISH: "publish events",
}
"""What each right allows, worded to follow "may"."""


WRITE_SCOPES: Final[dict[Right, TokenScope]] = {
    Right.SIGNED_IN: TokenScope.MANAGE,
    Right.VIEW: TokenScope.REVIEW,
    Right.REVIEW: TokenScope.REVIEW,
    Right.EXPORT: TokenScope.REVIEW,
    Right.LEAD: TokenScope.REVIEW,
    Right.EDIT_RULES: TokenScope.MANAGE,
    Right.ADMIN: TokenScope.MANAGE,
    Right.AUDIT: TokenScope.MANAGE,
    Right.PUBLISH: TokenScope.PUBLISH,
}
"""The scope that an API token needs for a change that requires the right."""


SCOPE_TEXTS: Final[dict[TokenScope, str]] = {
    TokenScope.READ: "read what you may read",
    TokenScope.PUBLISH: "publish events of accounts that you administer",
    TokenScope.REVIEW: "review decisions and take or release conversations, as you may",
    TokenScope.ANSWER: "read drafts that were not sent and answer customers, as you may",
    TokenScope.MANAGE: "change rules, documents and settings, as you may",
}
"""What each scope of an API token allows, worded to follow "may"."""


def missing_right_message(right: Right, user_id: str | None = None) -> str:
    """The message to a person without a right on one account or on any; it names who can grant the right."""
    *most, last = (role.value.replace("_", " ") for role, held in RIGHTS.items() if right in held)
    roles = f"{', '.join(most)} or {last}" if most else last
    where, whose = ("any account", "An account's") if user_id is None else (f"account {user_id}", "Its")
    return f"You may not {ACTIONS[right]} on {where}. {whose} administrators can make you {roles}."


def accounts_with(person: Person, right: Right) -> tuple[str, ...] | None:
    """The accounts where a person has a right: None for every account, an empty tuple for none."""
    where = {grant.user_id for grant in person.grants if right in RIGHTS[grant.role]}
    return None if EVERY_ACCOUNT in where else tuple(sorted(where))


def may(person: Person, right: Right, user_id: str) -> bool:
    """True when a person has a right on one account."""
    where = accounts_with(person, right)
    return where is None or user_id in where


def may_somewhere(person: Person, right: Right) -> bool:
    """True when a person has a right on any account."""
    return right is Right.SIGNED_IN or accounts_with(person, right) != ()
