"""People who use the review pages, and what each may do on which account."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from db.review_tables import people, person_roles

EVERY_ACCOUNT: Final = "*"
_ROLE: Final = (person_roles.c.user_id, person_roles.c.role)
_GRANTS: Final = (
    sa.select(sa.func.jsonb_agg(aggregate_order_by(sa.func.jsonb_build_array(*_ROLE), *_ROLE)))
    .where(person_roles.c.person_id == people.c.id)
    .scalar_subquery()
)
WITH_GRANTS: Final = sa.select(people, _GRANTS.label("grants"))
"""What ``person`` makes somebody of, roles and all, in one statement."""


class Role(StrEnum):
    """What somebody is on an account; stored, never renamed."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    LEAD = "lead"
    RULE_EDITOR = "rule_editor"
    ACCOUNT_ADMIN = "account_admin"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One role on one account; ``user_id`` is ``*`` for every account."""

    user_id: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may sign in.

    Attributes:
        login: lower case.
        grants: their roles, per account.
        covered: moderation categories whose texts stay covered until asked for.
        keys_on: whether single keys act on pages.
        must_change_password: True until a first password was replaced.
        disabled: True when they may not sign in any more.
        has_password: False when they sign in elsewhere only.
        password_given_by: whoever gave the last first password, and may know what followed; None: the command
            line.
        elsewhere: True when they have signed in at the identity provider.
    """

    person_id: UUID
    login: str
    name: str
    grants: tuple[Grant, ...] = ()
    covered: tuple[str, ...] = ()
    keys_on: bool = True
    must_change_password: bool = False
    disabled: bool = False
    has_password: bool = True
    password_given_by: UUID | None = None
    elsewhere: bool = False

    @property
    def accounts(self) -> tuple[str, ...]:
        """Where they have a role; ``*`` among them for every account."""
        return tuple(sorted({each.user_id for each in self.grants}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a sign-in with a password is checked against."""

    person: Person
    password_hash: str | None


async def by_id(connection: AsyncConnection, person_id: UUID) -> Person | None:
    """A person with their roles, or None."""
    query = WITH_GRANTS.where(people.c.id == person_id)
    row = (await connection.execute(query)).mappings().first()
    return person(row) if row else None


async def by_login(connection: AsyncConnection, login: str) -> Credentials | None:
    """A person with what their password is checked against, or None."""
    query = WITH_GRANTS.where(people.c.login == login.lower())
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        return None
    return Credentials(person=person(row), password_hash=row["password_hash"])


async def by_subject(connection: AsyncConnection, issuer: str, subject: str) -> Person | None:
    """Whom an identity provider means, or None."""
    query = WITH_GRANTS.where(people.c.oidc_issuer == issuer, people.c.oidc_subject == subject)
    row = (await connection.execute(query)).mappings().first()
    return person(row) if row else None


async def listed(connection: AsyncConnection, accounts: tuple[str, ...] | None) -> tuple[Person, ...]:
    """People by login: all, or those who have a role on one of these accounts or on every account."""
    query = WITH_GRANTS.order_by(people.c.login)
    if accounts is not None:
        here = sa.select(person_roles.c.person_id).where(
            person_roles.c.user_id.in_((*accounts, EVERY_ACCOUNT))
        )
        query = query.where(people.c.id.in_(here))
    return tuple(person(row) for row in (await connection.execute(query)).mappings())


async def with_password_of(connection: AsyncConnection, giver_id: UUID) -> tuple[Person, ...]:
    """Whose password somebody gave last and may know, by login; those who may not sign in are left out."""
    query = WITH_GRANTS.where(people.c.password_given_by == giver_id, people.c.disabled_at.is_(None))
    rows = await connection.execute(query.order_by(people.c.login))
    return tuple(person(row) for row in rows.mappings())


async def add(
    connection: AsyncConnection,
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


async def grant(connection: AsyncConnection, person_id: UUID, wanted: Grant, *, granted_by: str) -> None:
    """Give a role on an account; nothing changes when they have it."""
    statement = insert(person_roles).values(
        person_id=person_id, user_id=wanted.user_id, role=wanted.role.value, granted_by=granted_by
    )
    await connection.execute(statement.on_conflict_do_nothing())


def person(row: sa.RowMapping) -> Person:
    """A row of ``WITH_GRANTS`` as a value."""
    return Person(
        person_id=row["id"],
        login=row["login"],
        name=row["name"] or row["login"],
        grants=tuple(Grant(user_id=user_id, role=Role(role)) for user_id, role in row["grants"] or ()),
        covered=tuple(row["covered"]),
        keys_on=row["keys_on"],
        must_change_password=row["must_change_password"],
        disabled=row["disabled_at"] is not None,
        has_password=row["password_hash"] is not None,
        password_given_by=row["password_given_by"],
        elsewhere=row["oidc_subject"] is not None,
    )
