"""Who is signed in; the database knows hashes of cookies only."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.review_tables import sessions

SEEN_EVERY: Final = timedelta(minutes=1)
"""How old ``seen_at`` may be: a write per page would cost more than it tells."""


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
) -> tuple[UUID, bool] | None:
    """Whose session it is and whether ``seen`` is due; None when it ended, expired or never was."""
    query = sa.select(sessions.c.person_id, sessions.c.seen_at).where(
        sessions.c.token_hash == digest(token), sessions.c.expires_at > now, sessions.c.seen_at > now - idle
    )
    row = (await connection.execute(query)).first()
    return (row.person_id, row.seen_at < now - SEEN_EVERY) if row else None


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
