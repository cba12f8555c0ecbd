"""People with a role on an account: whom a comment may mention, and who may be assigned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.people.records import EVERY_ACCOUNT, Role
from db.people.tables import people, person_roles
from db.rows import rows_as

MOST_SUGGESTED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Colleague:
    """A person who may sign in."""

    person_id: UUID
    login: str
    name: str


async def suggested_colleagues(
    connection: Connection, user_id: str, roles: Collection[Role]
) -> tuple[Colleague, ...]:
    """The first people by login who have one of the roles on the account."""
    return await _found(connection, _with_role(user_id, roles).limit(MOST_SUGGESTED))


async def colleagues_named(
    connection: Connection, user_id: str, roles: Collection[Role], logins: Collection[str]
) -> tuple[Colleague, ...]:
    """The people among these logins who have one of the roles on the account."""
    if not logins:
        return ()
    return await _found(connection, _with_role(user_id, roles).where(people.c.login.in_(logins)))


def _with_role(user_id: str, roles: Collection[Role]) -> sa.Select[Any]:
    here = sa.select(person_roles.c.person_id).where(
        person_roles.c.user_id.in_((user_id, EVERY_ACCOUNT)),
        person_roles.c.role.in_([role.value for role in roles]),
    )
    name = sa.func.coalesce(sa.func.nullif(people.c.name, ""), people.c.login).label("name")
    query = sa.select(people.c.id.label("person_id"), people.c.login, name)
    return query.where(people.c.disabled_at.is_(None), people.c.id.in_(here)).order_by(people.c.login)


async def _found(connection: Connection, query: sa.Select[Any]) -> tuple[Colleague, ...]:
    return await rows_as(connection, Colleague, query)
