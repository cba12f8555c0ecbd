"""Keys of the JSON face; the database knows their hashes only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.review_tables import api_tokens
from db.sessions import digest

USED_EVERY: Final = timedelta(minutes=1)
"""How old ``used_at`` may be: a write per request would cost more than it tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """A key as its owner sees it; the key itself was shown once."""

    token_id: UUID
    name: str
    prefix: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None


async def add(
    connection: AsyncConnection,
    token_id: UUID,
    person_id: UUID,
    token: str,
    *,
    name: str,
    prefix: str,
    now: datetime,
    expires_at: datetime,
) -> None:
    """Store a new key's hash."""
    await connection.execute(
        sa.insert(api_tokens).values(
            id=token_id,
            person_id=person_id,
            name=name,
            token_hash=digest(token),
            prefix=prefix,
            created_at=now,
            expires_at=expires_at,
        )
    )


async def of_person(connection: AsyncConnection, person_id: UUID) -> tuple[ApiToken, ...]:
    """A person's keys, newest first, also those that ended."""
    query = (
        sa.select(api_tokens)
        .where(api_tokens.c.person_id == person_id)
        .order_by(api_tokens.c.id.desc())
        .limit(200)
    )
    return tuple(
        ApiToken(
            token_id=row.id,
            name=row.name,
            prefix=row.prefix,
            created_at=row.created_at,
            expires_at=row.expires_at,
            used_at=row.used_at,
            revoked_at=row.revoked_at,
        )
        for row in await connection.execute(query)
    )


async def use(connection: AsyncConnection, token: str, *, now: datetime) -> UUID | None:
    """Whose key it is; None when it was revoked, has expired or never was."""
    right = (api_tokens.c.token_hash == digest(token)) & api_tokens.c.revoked_at.is_(None)
    query = sa.select(api_tokens.c.id, api_tokens.c.person_id, api_tokens.c.used_at).where(
        right, api_tokens.c.expires_at > now
    )
    row = (await connection.execute(query)).first()
    if row is None:
        return None
    if row.used_at is None or row.used_at < now - USED_EVERY:
        seen = sa.update(api_tokens).where(api_tokens.c.id == row.id).values(used_at=now)
        await connection.execute(seen)
    person: UUID = row.person_id
    return person


async def revoke(connection: AsyncConnection, person_id: UUID, token_id: UUID, *, now: datetime) -> bool:
    """End a person's key; False when they have no such key that still works."""
    mine = (api_tokens.c.person_id == person_id) & (api_tokens.c.id == token_id)
    statement = sa.update(api_tokens).where(mine, api_tokens.c.revoked_at.is_(None)).values(revoked_at=now)
    return bool((await connection.execute(statement)).rowcount)


async def revoke_all(connection: AsyncConnection, person_id: UUID, *, now: datetime) -> int:
    """End every key of a person; how many."""
    mine = (api_tokens.c.person_id == person_id) & api_tokens.c.revoked_at.is_(None)
    done = await connection.execute(sa.update(api_tokens).where(mine).values(revoked_at=now))
    return int(done.rowcount)
