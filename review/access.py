"""Access rights of people: rights, the roles that hold them, and the accounts."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from markupsafe import Markup

from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT, Person, Role, RoleGrant
from review.languages import gettext, mark
from review.languages.template_texts import text


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
    Right.SIGNED_IN: mark("open pages of your own"),
    Right.VIEW: mark("see decisions"),
    Right.REVIEW: mark("review decisions"),
    Right.EXPORT: mark("export decisions"),
    Right.LEAD: mark("open queues, review many at once or give known answers"),
    Right.EDIT_RULES: mark("change rules and documents"),
    Right.ADMIN: mark("change settings or people"),
    Right.AUDIT: mark("read the access log"),
    Right.PUBLISH: mark("publish events"),
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
    TokenScope.READ: mark("read what you may read"),
    TokenScope.PUBLISH: mark("publish events of accounts that you administer"),
    TokenScope.CHECK: mark("have messages and drafts of accounts that you administer checked"),
    TokenScope.REVIEW: mark("review decisions and take or release conversations, as you may"),
    TokenScope.ANSWER: mark("read drafts that were not sent and answer customers, as you may"),
    TokenScope.MANAGE: mark("change rules, documents and settings, as you may"),
}
"""What each scope of an API token allows, worded to follow "may"."""


ROLE_NAMES: Final[dict[Role, str]] = {
    Role.VIEWER: mark("viewer"),
    Role.REVIEWER: mark("reviewer"),
    Role.LEAD: mark("lead"),
    Role.RULE_EDITOR: mark("rule editor"),
    Role.ACCOUNT_ADMIN: mark("account administrator"),
    Role.AUDITOR: mark("auditor"),
    Role.OWNER: mark("owner"),
}
"""Total; addresses, forms and the command line keep the codes."""


def role_name(role: Role) -> str:
    """A role in words."""
    return gettext(ROLE_NAMES[role])


def role_on(grant: RoleGrant) -> Markup:
    """A role and its account in words."""
    account = gettext("every account") if grant.user_id == EVERY_ACCOUNT else grant.user_id
    message = mark("%(role)s on <bdi>%(account)s</bdi>")
    return text(message, role=role_name(grant.role), account=account)


def missing_right_message(right: Right, user_id: str | None = None) -> str:
    """The message to a person without a right on one account or on any; it names who can grant the right."""
    values = {
        "action": gettext(ACTIONS[right]),
        "roles": ", ".join([role_name(role) for role, held in RIGHTS.items() if right in held]),
        "account": user_id,
    }
    if user_id is None:
        return (
            gettext(
                "You may not %(action)s on any account. An account's administrators can give you a role that"
                " may: %(roles)s."
            )
            % values
        )
    return (
        gettext(
            "You may not %(action)s on account %(account)s. Its administrators can give you a role that may:"
            " %(roles)s."
        )
        % values
    )


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
