"""Who is signed in; the database knows hashes of cookies only."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db import people
from db.people import Person
from db.review_tables import people as people_table
from db.review_tables import sessions

SEEN_EVERY: Final = timedelta(minutes=1)
"""How old ``seen_at`` may be: a write per page would cost more than it tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Where a person is signed in; ``token_hash`` names it and opens nothing."""

    token_hash: bytes
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str


def digest(token: str) -> bytes:
    """What stands in the database for a token of 256 random bits; those need no salt."""
    return hashlib.sha256(token.encode()).digest()


async def begin(
    connection: AsyncConnection,
    token: str,
    person_id: UUID,
    *,
    now: datetime,
    lasts: timedelta,
    address: str,
) -> None:
    """Store a new session."""
    await connection.execute(
        sa.insert(sessions).values(
            token_hash=digest(token),
            person_id=person_id,
            created_at=now,
            seen_at=now,
            expires_at=now + lasts,
            address=address,
        )
    )


async def person_of(
    connection: AsyncConnection, token: str, *, now: datetime, idle: timedelta
) -> tuple[Person, bool] | None:
    """Whose session it is and whether ``seen`` is due; None when it ended, expired or never was."""
    query = (
        people.WITH_GRANTS.add_columns(sessions.c.seen_at)
        .join(sessions, sessions.c.person_id == people_table.c.id)
        .where(sessions.c.token_hash == digest(token), *_alive(now, idle))
    )
    row = (await connection.execute(query)).mappings().first()
    return (people.person(row), row["seen_at"] < now - SEEN_EVERY) if row else None


async def hold(connection: AsyncConnection, token: str) -> bool:
    """Whether a session still is there; whoever ends it waits for this transaction."""
    query = sa.select(sessions.c.person_id).where(sessions.c.token_hash == digest(token))
    return (await connection.execute(query.with_for_update(read=True))).first() is not None


async def seen(connection: AsyncConnection, token: str, *, now: datetime) -> None:
    """Note that the session is in use."""
    await connection.execute(
        sa.update(sessions).where(sessions.c.token_hash == digest(token)).values(seen_at=now)
    )


async def end(connection: AsyncConnection, token: str) -> None:
    """Sign out."""
    await connection.execute(sa.delete(sessions).where(sessions.c.token_hash == digest(token)))


async def end_all(connection: AsyncConnection, person_id: UUID) -> int:
    """Sign a person out everywhere; how many sessions ended."""
    done = await connection.execute(sa.delete(sessions).where(sessions.c.person_id == person_id))
    return int(done.rowcount)


async def end_one(connection: AsyncConnection, person_id: UUID, token_hash: bytes) -> bool:
    """End one session of a person; False when they have no such session."""
    mine = (sessions.c.person_id == person_id) & (sessions.c.token_hash == token_hash)
    return bool((await connection.execute(sa.delete(sessions).where(mine))).rowcount)


async def end_others(connection: AsyncConnection, person_id: UUID, token: str) -> int:
    """Sign a person out everywhere but here; how many sessions ended."""
    others = (sessions.c.person_id == person_id) & (sessions.c.token_hash != digest(token))
    return int((await connection.execute(sa.delete(sessions).where(others))).rowcount)


async def of_person(
    connection: AsyncConnection, person_id: UUID, *, now: datetime, idle: timedelta
) -> tuple[Session, ...]:
    """Where a person is signed in, last used first."""
    query = (
        sa.select(sessions)
        .where(sessions.c.person_id == person_id, *_alive(now, idle))
        .order_by(sessions.c.seen_at.desc())
    )
    return tuple(
        Session(
            token_hash=row.token_hash,
            created_at=row.created_at,
            seen_at=row.seen_at,
            expires_at=row.expires_at,
            address=row.address,
        )
        for row in await connection.execute(query)
    )


async def sweep(connection: AsyncConnection, *, now: datetime, idle: timedelta) -> int:
    """Delete what has expired; how many."""
    done = await connection.execute(sa.delete(sessions).where(sa.not_(sa.and_(*_alive(now, idle)))))
    return int(done.rowcount)


def _alive(now: datetime, idle: timedelta) -> tuple[sa.ColumnElement[bool], ...]:
    return (sessions.c.expires_at > now, sessions.c.seen_at > now - idle)
