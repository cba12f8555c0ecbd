"""What changes about a person: password, name, habits, roles, whether they may come in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db import api_tokens, sessions, sign_ins
from db.people import EVERY_ACCOUNT, Grant, Person, Role
from db.review_tables import people, person_roles


async def give_password(
    connection: AsyncConnection, person: Person, password_hash: str | None, *, given_by: UUID | None
) -> None:
    """Store a first password, or none; what somebody else gave as this person is theirs from now on."""
    if person.password_given_by is not None:
        theirs = sa.update(people).where(people.c.password_given_by == person.person_id)
        await connection.execute(theirs.values(password_given_by=person.password_given_by))
    first = password_hash is not None
    await _set(
        connection,
        person.person_id,
        password_hash=password_hash,
        must_change_password=first,
        password_given_by=given_by if first else None,
    )


async def replace_password(connection: AsyncConnection, person_id: UUID, old: str, new: str) -> bool:
    """Store the password that a person chose; False when the one they know was changed meanwhile."""
    mine = sa.update(people).where(people.c.id == person_id, people.c.password_hash == old)
    done = await connection.execute(mine.values(password_hash=new, must_change_password=False))
    return bool(done.rowcount)


async def still_opens(connection: AsyncConnection, person_id: UUID, password_hash: str) -> bool:
    """Whether a password that was judged is the stored one; it stays so until this transaction ends."""
    query = sa.select(people.c.id).where(
        people.c.id == person_id, people.c.password_hash == password_hash, people.c.disabled_at.is_(None)
    )
    return (await connection.execute(query.with_for_update(read=True))).first() is not None


async def rehash(connection: AsyncConnection, person_id: UUID, old: str, new: str) -> None:
    """Store the same password hashed as is usual now, unless it was changed meanwhile."""
    statement = sa.update(people).where(people.c.id == person_id, people.c.password_hash == old)
    await connection.execute(statement.values(password_hash=new))


async def set_habits(
    connection: AsyncConnection, person_id: UUID, *, name: str, covered: Sequence[str], keys_on: bool
) -> None:
    """Store what a person decides about their own pages."""
    await _set(connection, person_id, name=name, covered=list(covered), keys_on=keys_on)


async def disable(connection: AsyncConnection, person_id: UUID, *, now: datetime) -> None:
    """Let a person in no more; whoever calls this also casts them out."""
    await _set(connection, person_id, disabled_at=now)


async def cast_out(connection: AsyncConnection, person_id: UUID, *, now: datetime) -> dict[str, int]:
    """End every way in that somebody has by now: sessions, keys and links; how many, for the access log."""
    return {
        "sessions_ended": await sessions.end_all(connection, person_id),
        "keys_revoked": await api_tokens.revoke_all(connection, person_id, now=now),
        "links_ended": await sign_ins.end_links(connection, person_id),
    }


async def enable(connection: AsyncConnection, person_id: UUID) -> None:
    """Let a person in again."""
    await _set(connection, person_id, disabled_at=None)


async def link_identity(connection: AsyncConnection, person_id: UUID, issuer: str, subject: str) -> bool:
    """Remember whom an identity provider means; False when the person is linked to somebody else there."""
    statement = sa.update(people).where(people.c.id == person_id, people.c.oidc_subject.is_(None))
    done = await connection.execute(statement.values(oidc_issuer=issuer, oidc_subject=subject))
    return bool(done.rowcount)


async def revoke(connection: AsyncConnection, person_id: UUID, unwanted: Grant) -> bool:
    """Take a role away; False when the person did not have it."""
    done = await connection.execute(
        sa.delete(person_roles).where(
            person_roles.c.person_id == person_id,
            person_roles.c.user_id == unwanted.user_id,
            person_roles.c.role == unwanted.role.value,
        )
    )
    return bool(done.rowcount)


async def hold(connection: AsyncConnection) -> None:
    """Let nobody else change roles, or who may come in, before this transaction ends; read afterwards."""
    await connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('hushgate people'))"))


async def admins(connection: AsyncConnection) -> tuple[UUID, ...]:
    """Who administers every account and may sign in."""
    query = (
        sa.select(people.c.id)
        .join(person_roles, person_roles.c.person_id == people.c.id)
        .where(
            person_roles.c.user_id == EVERY_ACCOUNT,
            person_roles.c.role == Role.ACCOUNT_ADMIN.value,
            people.c.disabled_at.is_(None),
        )
    )
    return tuple((await connection.execute(query)).scalars())


async def _set(connection: AsyncConnection, person_id: UUID, **values: Any) -> None:  # noqa: ANN401
    await connection.execute(sa.update(people).where(people.c.id == person_id).values(**values))
