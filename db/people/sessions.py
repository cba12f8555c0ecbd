"""Sessions, stored by the hash of their cookie."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.people import records
from db.people.records import Person
from db.people.tables import people as people_table
from db.people.tables import sessions
from db.rows import changed_rows, first_row, rows_as

IDLE: Final = timedelta(hours=8)
"""Without a page view for so long a session ends: a working day."""
LONGEST: Final = timedelta(days=1)
"""From sign-in to the end of a session."""
SEEN_EVERY: Final = timedelta(minutes=1)
"""Precision of ``seen_at``: a write per page would cost too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of a person; ``token_hash`` identifies it and gives no access.

    Attributes:
        new_device: True while the person has not said that this sign-in on an unknown browser was theirs.
    """

    token_hash: bytes
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str
    new_device: bool


def token_hash(token: str) -> bytes:
    """The stored hash of a token of 256 random bits; those need no salt."""
    return hashlib.sha256(token.encode()).digest()


async def start_session(
    connection: Connection,
    token: str,
    person_id: UUID,
    *,
    now: datetime,
    lasts: timedelta,
    address: str,
    new_device: bool = False,
    provider_session: str | None = None,
) -> None:
    """Store a new session."""
    await connection.execute(
        sa.insert(sessions).values(
            token_hash=token_hash(token),
            person_id=person_id,
            created_at=now,
            seen_at=now,
            expires_at=now + lasts,
            address=address,
            new_device=new_device,
            provider_session=provider_session,
        )
    )


async def session_person(connection: Connection, token: str, *, now: datetime) -> tuple[Person, bool] | None:
    """A session's person and whether ``mark_seen`` is due; None when it ended, expired or never existed."""
    query = (
        records.WITH_GRANTS.add_columns(sessions.c.seen_at)
        .join(sessions, sessions.c.person_id == people_table.c.id)
        .where(sessions.c.token_hash == token_hash(token), *_alive(now))
    )
    row = await first_row(connection, query)
    return (records.person_from_row(row), row["seen_at"] < now - SEEN_EVERY) if row else None


async def lock_session(connection: Connection, token: str) -> bool:
    """Whether a session exists; ending it waits for this transaction."""
    query = sa.select(sessions.c.person_id).where(sessions.c.token_hash == token_hash(token))
    return (await connection.execute(query.with_for_update(read=True))).first() is not None


async def mark_seen(connection: Connection, token: str, *, now: datetime) -> None:
    """Note that the session is in use."""
    await connection.execute(
        sa.update(sessions).where(sessions.c.token_hash == token_hash(token)).values(seen_at=now)
    )


async def end_session(connection: Connection, token: str) -> None:
    """Sign out."""
    await connection.execute(sa.delete(sessions).where(sessions.c.token_hash == token_hash(token)))


async def end_all_sessions(connection: Connection, person_id: UUID) -> int:
    """Sign a person out everywhere; how many sessions ended."""
    return await changed_rows(connection, sa.delete(sessions).where(sessions.c.person_id == person_id))


async def end_session_of(connection: Connection, person_id: UUID, token_hash: bytes) -> bool:
    """End one session of a person; False when the person has no such session."""
    mine = (sessions.c.person_id == person_id) & (sessions.c.token_hash == token_hash)
    return bool(await changed_rows(connection, sa.delete(sessions).where(mine)))


async def end_other_sessions(connection: Connection, person_id: UUID, token: str) -> int:
    """Sign a person out everywhere but here; how many sessions ended."""
    others = (sessions.c.person_id == person_id) & (sessions.c.token_hash != token_hash(token))
    return await changed_rows(connection, sa.delete(sessions).where(others))


async def end_provider_sessions(
    connection: Connection, issuer: str, provider_session: str, subject: str | None
) -> int:
    """End the sessions that began with a session of the identity provider; how many."""
    people_there = _people_of(issuer, subject)
    mine = sessions.c.person_id.in_(people_there) & (sessions.c.provider_session == provider_session)
    return await changed_rows(connection, sa.delete(sessions).where(mine))


async def end_sessions_of_subject(connection: Connection, issuer: str, subject: str) -> int:
    """End every session of a person that the identity provider names; how many."""
    mine = sessions.c.person_id.in_(_people_of(issuer, subject))
    return await changed_rows(connection, sa.delete(sessions).where(mine))


async def recognise_sessions(connection: Connection, person_id: UUID) -> int:
    """The person says that the sign-ins on unknown browsers were theirs; how many."""
    mine = (sessions.c.person_id == person_id) & sessions.c.new_device
    return await changed_rows(connection, sa.update(sessions).where(mine).values(new_device=False))


async def list_sessions(connection: Connection, person_id: UUID, *, now: datetime) -> tuple[Session, ...]:
    """A person's sessions, last used first."""
    columns = [sessions.c[name] for name in Session.__slots__]
    query = sa.select(*columns).where(sessions.c.person_id == person_id, *_alive(now))
    return await rows_as(connection, Session, query.order_by(sessions.c.seen_at.desc()))


async def delete_expired_sessions(connection: Connection, *, now: datetime) -> int:
    """Delete expired sessions; how many."""
    return await changed_rows(connection, sa.delete(sessions).where(sa.not_(sa.and_(*_alive(now)))))


def _people_of(issuer: str, subject: str | None) -> sa.Select[tuple[UUID]]:
    query = sa.select(people_table.c.id).where(people_table.c.oidc_issuer == issuer)
    return query if subject is None else query.where(people_table.c.oidc_subject == subject)


def _alive(now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return (sessions.c.expires_at > now, sessions.c.seen_at > now - IDLE)
