"""API tokens of the JSON API, stored as hashes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.people.sessions import token_hash
from db.people.tables import api_tokens
from db.rows import all_rows, changed_rows, first_row

USED_EVERY: Final = timedelta(minutes=1)
"""Precision of ``used_at``: a write per request would cost too much."""


class TokenScope(StrEnum):
    """What an API token may do of what its owner may; stored, never renamed."""

    READ = "read"
    PUBLISH = "publish"
    CHECK = "check"
    REVIEW = "review"
    ANSWER = "answer"
    MANAGE = "manage"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedToken:
    """The valid API token of a request; ``fail_open``: a check that could not be made lets the text pass."""

    token_id: UUID
    person_id: UUID
    scopes: frozenset[TokenScope]
    expires_at: datetime
    fail_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """An API token as its owner sees it, without the secret."""

    token_id: UUID
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    fail_open: bool
    used_at: datetime | None
    revoked_at: datetime | None


async def store_token(
    connection: Connection,
    token_id: UUID,
    person_id: UUID,
    token: str,
    *,
    name: str,
    prefix: str,
    scopes: Collection[TokenScope],
    now: datetime,
    expires_at: datetime,
    fail_open: bool = False,
) -> None:
    """Store the hash of a new API token."""
    await connection.execute(
        sa.insert(api_tokens).values(
            id=token_id,
            person_id=person_id,
            name=name,
            token_hash=token_hash(token),
            prefix=prefix,
            scopes=sorted(scopes),
            created_at=now,
            expires_at=expires_at,
            fail_open=fail_open,
        )
    )


async def list_tokens(connection: Connection, person_id: UUID) -> tuple[ApiToken, ...]:
    """A person's API tokens, newest first, including those that ended."""
    columns = (api_tokens.c.id.label("token_id"), *(api_tokens.c[each] for each in ApiToken.__slots__[1:]))
    query = sa.select(*columns).where(api_tokens.c.person_id == person_id).order_by(api_tokens.c.id.desc())
    rows = await all_rows(connection, query.limit(200))
    return tuple(ApiToken(**dict(row) | {"scopes": tuple(row["scopes"])}) for row in rows)


async def use_token(connection: Connection, token: str, *, now: datetime) -> UsedToken | None:
    """The owner and the scopes of an API token; None when it was revoked, has expired or never existed."""
    right = (api_tokens.c.token_hash == token_hash(token)) & api_tokens.c.revoked_at.is_(None)
    columns = (
        api_tokens.c[name] for name in ("id", "person_id", "used_at", "scopes", "expires_at", "fail_open")
    )
    query = sa.select(*columns).where(right, api_tokens.c.expires_at > now)
    row = await first_row(connection, query)
    if row is None:
        return None
    if row["used_at"] is None or row["used_at"] < now - USED_EVERY:
        await connection.execute(
            sa.update(api_tokens).where(api_tokens.c.id == row["id"]).values(used_at=now)
        )
    scopes = frozenset(map(TokenScope, row["scopes"]))
    return UsedToken(
        token_id=row["id"],
        person_id=row["person_id"],
        scopes=scopes,
        expires_at=row["expires_at"],
        fail_open=row["fail_open"],
    )


async def revoke_token(connection: Connection, person_id: UUID, token_id: UUID, *, now: datetime) -> bool:
    """Revoke a person's API token; False when the person has no such valid token."""
    mine = (api_tokens.c.person_id == person_id) & (api_tokens.c.id == token_id)
    statement = sa.update(api_tokens).where(mine, api_tokens.c.revoked_at.is_(None)).values(revoked_at=now)
    return bool(await changed_rows(connection, statement))


async def revoke_all_tokens(connection: Connection, person_id: UUID, *, now: datetime) -> int:
    """Revoke every API token of a person; how many."""
    mine = (api_tokens.c.person_id == person_id) & api_tokens.c.revoked_at.is_(None)
    return await changed_rows(connection, sa.update(api_tokens).where(mine).values(revoked_at=now))
