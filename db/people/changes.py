"""Changes of a person: password, name, language, preferences, roles, access."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.people import api_tokens, invitations, sessions, sign_ins
from db.people.records import ADMINISTERING, EVERY_ACCOUNT, Person, RoleGrant
from db.people.tables import people, person_roles
from db.rows import changed_rows


async def give_password(
    connection: Connection, person: Person, password_hash: str | None, *, given_by: UUID | None
) -> None:
    """Store or remove a first password; passwords that the person gave are re-attributed to their giver."""
    first = password_hash is not None
    await _store_password(
        connection, person, password_hash, must_change=first, given_by=given_by if first else None
    )


async def store_own_password(connection: Connection, person: Person, password_hash: str | None) -> None:
    """Store or remove a password that no administrator can know; re-attribute as ``give_password`` does."""
    await _store_password(connection, person, password_hash, must_change=False, given_by=None)


async def replace_password(connection: Connection, person_id: UUID, old: str, new: str) -> bool:
    """Store the password that a person chose; False when ``old`` is not the stored hash any more."""
    mine = sa.update(people).where(people.c.id == person_id, people.c.password_hash == old)
    return bool(await changed_rows(connection, mine.values(password_hash=new, must_change_password=False)))


async def password_is_current(connection: Connection, person_id: UUID, password_hash: str) -> bool:
    """Whether a checked hash is still the stored one; locked until this transaction ends."""
    query = sa.select(people.c.id).where(
        people.c.id == person_id, people.c.password_hash == password_hash, people.c.disabled_at.is_(None)
    )
    return (await connection.execute(query.with_for_update(read=True))).first() is not None


async def rehash_password(connection: Connection, person_id: UUID, old: str, new: str) -> None:
    """Store the same password hashed with current parameters, unless it was changed meanwhile."""
    statement = sa.update(people).where(people.c.id == person_id, people.c.password_hash == old)
    await connection.execute(statement.values(password_hash=new))


async def set_columns(connection: Connection, person_id: UUID, **values: Any) -> None:
    """Set columns of a person, such as preferences."""
    await connection.execute(sa.update(people).where(people.c.id == person_id).values(**values))


async def disable_person(connection: Connection, person_id: UUID, *, now: datetime) -> None:
    """Forbid a person to sign in; the caller also revokes access."""
    await set_columns(connection, person_id, disabled_at=now)


async def revoke_access(connection: Connection, person_id: UUID, *, now: datetime) -> dict[str, int]:
    """End sessions, API tokens, sign-in links and invitations a person made; counts for the access log."""
    ended = await sessions.end_all_sessions(connection, person_id)
    return {"sessions_ended": ended} | await _end_tokens_and_links(connection, person_id, now)


async def end_other_ways_in(
    connection: Connection, person_id: UUID, session: str, *, now: datetime
) -> dict[str, int]:
    """End other sessions, API tokens, sign-in links and invitations made; counts for the access log.

    Sessions end first: what another session makes meanwhile is then committed, and ends too.
    """
    ended = await sessions.end_other_sessions(connection, person_id, session)
    return {"sessions_ended": ended} | await _end_tokens_and_links(connection, person_id, now)


async def _end_tokens_and_links(connection: Connection, person_id: UUID, now: datetime) -> dict[str, int]:
    return {
        "keys_revoked": await api_tokens.revoke_all_tokens(connection, person_id, now=now),
        "links_ended": await sign_ins.end_links(connection, person_id),
        "invitations_ended": await invitations.withdraw_invitations_by(connection, person_id, now=now),
    }


async def enable_person(connection: Connection, person_id: UUID) -> None:
    """Allow a disabled person to sign in again."""
    await set_columns(connection, person_id, disabled_at=None)


async def link_identity(connection: Connection, person_id: UUID, issuer: str, subject: str) -> bool:
    """Link a person to an identity; False when the person is linked to another one."""
    statement = sa.update(people).where(people.c.id == person_id, people.c.oidc_subject.is_(None))
    return bool(await changed_rows(connection, statement.values(oidc_issuer=issuer, oidc_subject=subject)))


async def revoke_role(connection: Connection, person_id: UUID, unwanted: RoleGrant) -> bool:
    """Take a role away; False when the person did not have it."""
    statement = sa.delete(person_roles).where(
        person_roles.c.person_id == person_id,
        person_roles.c.user_id == unwanted.user_id,
        person_roles.c.role == unwanted.role.value,
    )
    return bool(await changed_rows(connection, statement))


async def lock_roles(connection: Connection) -> None:
    """Serialise changes of roles and access until this transaction ends; read people afterwards."""
    await connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('hushgate people'))"))


async def is_last_admin(
    connection: Connection, person: Person, *, without: Sequence[RoleGrant] | None = None
) -> bool:
    """Whether no person would administer every account without these roles of a person, or without any."""
    lost = person.grants if without is None else without
    if any(
        each.user_id == EVERY_ACCOUNT and each.role in ADMINISTERING for each in {*person.grants} - {*lost}
    ):
        return False
    query = (
        sa.select(people.c.id)
        .join(person_roles, person_roles.c.person_id == people.c.id)
        .where(
            person_roles.c.user_id == EVERY_ACCOUNT,
            person_roles.c.role.in_(ADMINISTERING),
            people.c.disabled_at.is_(None),
        )
        .distinct()
    )
    return tuple((await connection.execute(query)).scalars()) == (person.person_id,)


async def _store_password(
    connection: Connection,
    person: Person,
    password_hash: str | None,
    *,
    must_change: bool,
    given_by: UUID | None,
) -> None:
    if person.password_given_by is not None:
        theirs = sa.update(people).where(people.c.password_given_by == person.person_id)
        await connection.execute(theirs.values(password_given_by=person.password_given_by))
    values = {
        "password_hash": password_hash,
        "must_change_password": must_change,
        "password_given_by": given_by,
    }
    await set_columns(connection, person.person_id, **values)
