"""API tokens of the JSON API, stored as hashes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.people.sessions import token_hash
from db.review_tables import api_tokens

USED_EVERY: Final = timedelta(minutes=1)
"""Precision of ``used_at``: a write per request would cost too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """An API token as its owner sees it, without the secret."""

    token_id: UUID
    name: str
    prefix: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None


async def store_token(
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
    """Store the hash of a new API token."""
    await connection.execute(
        sa.insert(api_tokens).values(
            id=token_id,
            person_id=person_id,
            name=name,
            token_hash=token_hash(token),
            prefix=prefix,
            created_at=now,
            expires_at=expires_at,
        )
    )


async def list_tokens(connection: AsyncConnection, person_id: UUID) -> tuple[ApiToken, ...]:
    """A person's API tokens, newest first, including those that ended."""
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


async def token_owner(connection: AsyncConnection, token: str, *, now: datetime) -> UUID | None:
    """The owner of an API token; None when it was revoked, has expired or never existed."""
    right = (api_tokens.c.token_hash == token_hash(token)) & api_tokens.c.revoked_at.is_(None)
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


async def revoke_token(
    connection: AsyncConnection, person_id: UUID, token_id: UUID, *, now: datetime
) -> bool:
    """Revoke a person's API token; False when they have no such valid token."""
    mine = (api_tokens.c.person_id == person_id) & (api_tokens.c.id == token_id)
    statement = sa.update(api_tokens).where(mine, api_tokens.c.revoked_at.is_(None)).values(revoked_at=now)
    return bool((await connection.execute(statement)).rowcount)


async def revoke_all_tokens(connection: AsyncConnection, person_id: UUID, *, now: datetime) -> int:
    """Revoke every API token of a person; how many."""
    mine = (api_tokens.c.person_id == person_id) & api_tokens.c.revoked_at.is_(None)
    done = await connection.execute(sa.update(api_tokens).where(mine).values(revoked_at=now))
    return int(done.rowcount)
