"""People who use the review pages, and their roles per account."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by, insert

from db.collaboration.tables import comment_mentions
from db.connection import Connection
from db.people.list_layout import ListLayout, layout_from_row
from db.people.tables import people, person_roles, second_factors
from db.rows import Row, all_rows, first_row, from_row

EVERY_ACCOUNT: Final = "*"
_ROLE: Final = (person_roles.c.user_id, person_roles.c.role)
_GRANTS: Final = (
    sa.select(sa.func.jsonb_agg(aggregate_order_by(sa.func.jsonb_build_array(*_ROLE), *_ROLE)))
    .where(person_roles.c.person_id == people.c.id)
    .scalar_subquery()
)
_HAS_FACTOR: Final = sa.exists().where(
    second_factors.c.person_id == people.c.id, second_factors.c.confirmed_at.is_not(None)
)
_UNSEEN: Final = (comment_mentions.c.person_id == people.c.id, comment_mentions.c.seen_at.is_(None))
_OWN_ROLES: Final = person_roles.c.person_id == people.c.id
_OWN_ACCOUNTS: Final = sa.select(person_roles.c.user_id).where(_OWN_ROLES).distinct().correlate(people)


def _unread() -> sa.Case[Any]:
    """Unseen mentions; each role on the account of a mention counts, as every role may see decisions.

    The accounts are joined: one look-up per mention and role took 20 ms of Postgres' CPU on each page.
    """
    mentions, mine = sa.select(sa.func.count()).select_from(comment_mentions), _OWN_ACCOUNTS.subquery()
    joined = comment_mentions.join(mine, mine.c.user_id == comment_mentions.c.user_id)
    of_accounts = sa.select(sa.func.count()).select_from(joined)
    every = sa.exists().where(_OWN_ROLES, person_roles.c.user_id == EVERY_ACCOUNT)
    return sa.case(
        (every, mentions.where(*_UNSEEN).correlate(people).scalar_subquery()),
        else_=of_accounts.where(*_UNSEEN).correlate(people).scalar_subquery(),
    )


WITH_GRANTS: Final = sa.select(
    people, _GRANTS.label("grants"), _HAS_FACTOR.label("second_factor"), _unread().label("unread")
)
"""A person with roles, in one statement; ``person_from_row`` reads it."""


class Role(StrEnum):
    """A person's role on an account; stored, never renamed."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    LEAD = "lead"
    RULE_EDITOR = "rule_editor"
    ACCOUNT_ADMIN = "account_admin"
    AUDITOR = "auditor"
    OWNER = "owner"


ADMINISTERING: Final = (Role.ACCOUNT_ADMIN, Role.OWNER)
"""The roles that give roles to others; the last of them on every account is not taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGrant:
    """One role on one account; ``user_id`` is ``*`` for every account."""

    user_id: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who uses the review pages.

    Attributes:
        login: lower case.
        covered: moderation categories whose texts stay covered until the person shows them; once the person
            is signed in, with those that the organisation covers for them.
        own_covers: True when the person chose ``covered``.
        must_change_password: True until a first password is replaced.
        disabled: True when the person may not sign in.
        has_password: False when only the identity provider signs the person in.
        password_given_by: who gave the last first password, or invited the person who chose it, and may know
            the current one; None: the command line, or no administrator.
        elsewhere: True when the person is linked to an identity of the provider.
        second_factor: True when a password alone does not sign the person in.
        language: of the pages, such as ``vi``; None: the browser's.
        time_zone: IANA name for shown times; None: the browser's.
        list_layout: columns and order of the list of decisions.
        unread: mentions that the person has not read.
    """

    person_id: UUID
    login: str
    name: str
    grants: tuple[RoleGrant, ...] = ()
    covered: tuple[str, ...] = ()
    own_covers: bool = False
    keys_on: bool = True
    must_change_password: bool = False
    disabled: bool = False
    has_password: bool = True
    password_given_by: UUID | None = None
    elsewhere: bool = False
    second_factor: bool = False
    language: str | None = None
    time_zone: str | None = None
    list_layout: ListLayout = field(default_factory=ListLayout)
    unread: int = 0

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts of the roles, ``*`` for every account."""
        return tuple(sorted({each.user_id for each in self.grants}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A person with the password hash."""

    person: Person
    password_hash: str | None


async def get_person(connection: Connection, person_id: UUID) -> Person | None:
    """A person with their roles, or None."""
    return await _first_person(connection, WITH_GRANTS.where(people.c.id == person_id))


async def get_credentials(connection: Connection, login: str) -> Credentials | None:
    """The person of a login with the password hash, or None."""
    row = await first_row(connection, WITH_GRANTS.where(people.c.login == login.lower()))
    return Credentials(person=person_from_row(row), password_hash=row["password_hash"]) if row else None


async def person_of_identity(connection: Connection, issuer: str, subject: str) -> Person | None:
    """The person linked to an identity, or None."""
    query = WITH_GRANTS.where(people.c.oidc_issuer == issuer, people.c.oidc_subject == subject)
    return await _first_person(connection, query)


async def list_people(connection: Connection, accounts: tuple[str, ...] | None) -> tuple[Person, ...]:
    """People by login: all, or those who have a role on one of these accounts or on every account.

    ``second_factor`` and ``unread`` are not read.
    """
    rows = await all_rows(connection, _with_roles_on(accounts))
    return tuple(person_from_row(row) for row in rows)


async def people_knowing_password(connection: Connection, giver_id: UUID) -> tuple[Person, ...]:
    """Enabled people whose password this person gave last and may know, by login."""
    query = WITH_GRANTS.where(people.c.password_given_by == giver_id, people.c.disabled_at.is_(None))
    rows = await all_rows(connection, query.order_by(people.c.login))
    return tuple(person_from_row(row) for row in rows)


async def add_person(
    connection: Connection,
    person_id: UUID,
    *,
    login: str,
    name: str,
    password_hash: str | None,
    must_change_password: bool,
    created_by: str,
    given_by: UUID | None = None,
) -> bool:
    """Add a person without roles; False when the login is taken."""
    statement = insert(people).values(
        id=person_id,
        login=login.lower(),
        name=name,
        password_hash=password_hash,
        must_change_password=must_change_password,
        created_by=created_by,
        password_given_by=given_by,
    )
    unless_taken = statement.on_conflict_do_nothing(index_elements=["login"]).returning(people.c.id)
    return (await connection.execute(unless_taken)).first() is not None


async def grant_role(connection: Connection, person_id: UUID, wanted: RoleGrant, *, granted_by: str) -> None:
    """Give a role on an account; nothing changes when the person has the role."""
    statement = insert(person_roles).values(
        person_id=person_id, user_id=wanted.user_id, role=wanted.role.value, granted_by=granted_by
    )
    await connection.execute(statement.on_conflict_do_nothing())


def _grants(row: Row) -> tuple[RoleGrant, ...]:
    """The roles that this release knows; a role of a newer one gives no right."""
    return tuple(_grant(*each) for each in row["grants"] or () if each[1] in set(Role))


@lru_cache(maxsize=4096)
def _grant(user_id: str, role: str) -> RoleGrant:
    return RoleGrant(user_id=user_id, role=Role(role))


def person_from_row(row: Row) -> Person:
    """A row of ``WITH_GRANTS`` as a value."""
    read = {
        "person_id": row["id"],
        "name": row["name"] or row["login"],
        "grants": _grants(row),
        "own_covers": row["own_covers"] or bool(row["covered"]),
        "disabled": row["disabled_at"] is not None,
        "has_password": row["password_hash"] is not None,
        "elsewhere": row["oidc_subject"] is not None,
        "list_layout": layout_from_row(row),
    }
    return from_row(Person, row | read)


def owner_from_row(row: Row) -> Person:
    """A row of the view ``token_owners`` as a value."""
    disabled = row["disabled_at"] is not None
    return from_row(Person, row | {"person_id": row["id"], "grants": _grants(row), "disabled": disabled})


def _with_roles_on(accounts: tuple[str, ...] | None) -> sa.Select[Any]:
    query = sa.select(people, _GRANTS.label("grants")).order_by(people.c.login)
    if accounts is None:
        return query
    here = sa.select(person_roles.c.person_id).where(person_roles.c.user_id.in_((*accounts, EVERY_ACCOUNT)))
    return query.where(people.c.id.in_(here))


async def _first_person(connection: Connection, query: sa.Select[Any]) -> Person | None:
    row = await first_row(connection, query)
    return person_from_row(row) if row else None
