"""API tokens of the JSON API, stored as hashes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.people.sessions import token_hash
from db.people.tables import api_tokens
from db.rows import all_rows, changed_rows, first_row

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
    columns = (api_tokens.c.id.label("token_id"), *(api_tokens.c[each] for each in ApiToken.__slots__[1:]))
    query = sa.select(*columns).where(api_tokens.c.person_id == person_id).order_by(api_tokens.c.id.desc())
    return tuple(ApiToken(**row) for row in await all_rows(connection, query.limit(200)))


async def token_owner(connection: AsyncConnection, token: str, *, now: datetime) -> UUID | None:
    """The owner of an API token; None when it was revoked, has expired or never existed."""
    right = (api_tokens.c.token_hash == token_hash(token)) & api_tokens.c.revoked_at.is_(None)
    query = sa.select(api_tokens.c.id, api_tokens.c.person_id, api_tokens.c.used_at).where(
        right, api_tokens.c.expires_at > now
    )
    row = await first_row(connection, query)
    if row is None:
        return None
    if row["used_at"] is None or row["used_at"] < now - USED_EVERY:
        await connection.execute(
            sa.update(api_tokens).where(api_tokens.c.id == row["id"]).values(used_at=now)
        )
    person: UUID = row["person_id"]
    return person


async def revoke_token(
    connection: AsyncConnection, person_id: UUID, token_id: UUID, *, now: datetime
) -> bool:
    """Revoke a person's API token; False when they have no such valid token."""
    mine = (api_tokens.c.person_id == person_id) & (api_tokens.c.id == token_id)
    statement = sa.update(api_tokens).where(mine, api_tokens.c.revoked_at.is_(None)).values(revoked_at=now)
    return bool(await changed_rows(connection, statement))


async def revoke_all_tokens(connection: AsyncConnection, person_id: UUID, *, now: datetime) -> int:
    """Revoke every API token of a person; how many."""
    mine = (api_tokens.c.person_id == person_id) & api_tokens.c.revoked_at.is_(None)
    return await changed_rows(connection, sa.update(api_tokens).where(mine).values(revoked_at=now))
