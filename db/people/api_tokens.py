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
from db.people.records import WITH_GRANTS, Person, owner_from_row, person_from_row
from db.people.sessions import token_hash
from db.people.tables import api_tokens, people
from db.rows import Row, all_rows, changed_rows, first_row

USED_EVERY: Final = timedelta(minutes=1)
"""Precision of ``used_at``: a write per request would cost too much."""
_VALID: Final = (
    api_tokens.c.token_hash == sa.bindparam("hash"),
    api_tokens.c.revoked_at.is_(None),
    api_tokens.c.expires_at > sa.bindparam("at"),
)
_TOKEN: Final = ("id", "used_at", "scopes", "expires_at", "fail_open")
_TOKEN_AND_PERSON: Final = (
    WITH_GRANTS.add_columns(*(api_tokens.c[name].label(f"token_{name}") for name in _TOKEN))
    .join_from(people, api_tokens, api_tokens.c.person_id == people.c.id)
    .where(*_VALID)
)
_TOKEN_AND_OWNER: Final = f"""
    SELECT o.*, {", ".join(f"t.{name} AS token_{name}" for name in _TOKEN)}
    FROM api_tokens t JOIN token_owners o ON o.id = t.person_id
    WHERE t.token_hash = %(hash)s AND t.revoked_at IS NULL AND t.expires_at > %(at)s
"""
"""For the login of the gateway, with each of its requests: text costs no compilation."""


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


async def use_token(connection: Connection, token: str, now: datetime) -> tuple[UsedToken, Person] | None:
    """An API token and its owner; None when the token was revoked, has expired or never existed."""
    row = await first_row(connection, _TOKEN_AND_PERSON, {"hash": token_hash(token), "at": now})
    return None if row is None else (await _used(connection, row, now), person_from_row(row))


async def use_token_at_gateway(
    connection: Connection, token: str, now: datetime
) -> tuple[UsedToken, Person] | None:
    """The same, with what the gateway's login may read of the owner."""
    row = await first_row(connection, _TOKEN_AND_OWNER, {"hash": token_hash(token), "at": now})
    return None if row is None else (await _used(connection, row, now), owner_from_row(row))


async def _used(connection: Connection, row: Row, now: datetime) -> UsedToken:
    if row["token_used_at"] is None or row["token_used_at"] < now - USED_EVERY:
        await connection.execute(
            sa.update(api_tokens).where(api_tokens.c.id == row["token_id"]).values(used_at=now)
        )
    return UsedToken(
        token_id=row["token_id"],
        person_id=row["id"],
        scopes=frozenset(map(TokenScope, row["token_scopes"])),
        expires_at=row["token_expires_at"],
        fail_open=row["token_fail_open"],
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
