"""Invitations: a role on an account, offered to a login by a link; stored by the hash of its token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from db.connection import Connection
from db.people.records import ADMINISTERING, EVERY_ACCOUNT, Role, RoleGrant
from db.people.sessions import token_hash
from db.people.tables import invitations, people, person_roles
from db.rows import Row, all_rows, changed_rows, first_row, from_row, is_known

VALID_FOR: Final = timedelta(days=7)
_TABLE: Final = invitations.c
_INVITER_ADMINISTERS: Final = (
    sa.exists()
    .where(
        people.c.id == _TABLE.invited_by,
        people.c.disabled_at.is_(None),
        person_roles.c.person_id == people.c.id,
        person_roles.c.role.in_(ADMINISTERING),
        person_roles.c.user_id.in_((_TABLE.user_id, EVERY_ACCOUNT)),
    )
    .correlate(invitations)
)
_INVITER_LOGIN: Final = sa.select(people.c.login).where(people.c.id == _TABLE.invited_by).scalar_subquery()
_COLUMNS: Final = (*_TABLE, _INVITER_LOGIN.label("inviter"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An open invitation; ``inviter`` is the login of the person who made it."""

    invitation_id: UUID
    login: str
    wanted: RoleGrant
    invited_by: UUID
    inviter: str
    expires_at: datetime


async def add_invitation(
    connection: Connection, token: str, *, login: str, wanted: RoleGrant, invited_by: UUID, now: datetime
) -> None:
    """Store an invitation; open ones of the same login and role end."""
    same = (_TABLE.login == login) & (_TABLE.user_id == wanted.user_id) & (_TABLE.role == wanted.role.value)
    await _withdraw(connection, same, now)
    await connection.execute(
        sa.insert(invitations).values(
            id=uuid7(),
            token_hash=token_hash(token),
            login=login,
            user_id=wanted.user_id,
            role=wanted.role.value,
            invited_by=invited_by,
            created_at=now,
            expires_at=now + VALID_FOR,
        )
    )


async def count_invitations(connection: Connection, invited_by: UUID, *, since: datetime) -> int:
    """The number of invitations that a person has made since a time; each call waits for the call before."""
    lock = sa.text("SELECT pg_advisory_xact_lock(hashtextextended('hushgate invitations ' || :person, 0))")
    await connection.execute(lock, {"person": str(invited_by)})
    query = sa.select(sa.func.count()).where(_TABLE.invited_by == invited_by, _TABLE.created_at > since)
    return int((await connection.execute(query)).scalar_one())


async def list_invitations(
    connection: Connection, accounts: tuple[str, ...] | None, *, now: datetime
) -> tuple[Invitation, ...]:
    """Open invitations to these accounts, or to any, by login."""
    query = sa.select(*_COLUMNS).where(_open(now)).order_by(_TABLE.login, _TABLE.id)
    if accounts is not None:
        query = query.where(_TABLE.user_id.in_(accounts))
    return tuple(_invitation(row) for row in await all_rows(connection, query))


async def get_invitation(connection: Connection, token: str, *, now: datetime) -> Invitation | None:
    """The open invitation of a link, or None."""
    query = sa.select(*_COLUMNS).where(_TABLE.token_hash == token_hash(token), _open(now))
    row = await first_row(connection, query)
    return _invitation(row) if row else None


async def accept_invitation(connection: Connection, token: str, *, now: datetime) -> Invitation | None:
    """The open invitation of a link, which ends with this transaction; None for the second of two."""
    statement = sa.update(invitations).where(_TABLE.token_hash == token_hash(token), _open(now))
    row = await first_row(connection, statement.values(accepted_at=now).returning(*_COLUMNS))
    return _invitation(row) if row else None


async def withdraw_invitation(
    connection: Connection, invitation_id: UUID, accounts: tuple[str, ...] | None, *, now: datetime
) -> Invitation | None:
    """End an open invitation to one of these accounts, or to any; None when there is none."""
    here = _TABLE.id == invitation_id
    condition = here if accounts is None else here & _TABLE.user_id.in_(accounts)
    statement = sa.update(invitations).where(condition, _open(now)).values(withdrawn_at=now)
    row = await first_row(connection, statement.returning(*_COLUMNS))
    return _invitation(row) if row else None


async def withdraw_invitations_by(connection: Connection, person_id: UUID, *, now: datetime) -> int:
    """End the open invitations that a person made; how many."""
    return await _withdraw(connection, _TABLE.invited_by == person_id, now)


async def delete_expired_invitations(connection: Connection, *, now: datetime) -> None:
    """Delete expired invitations; accepted and withdrawn ones count for the rate limit until then."""
    await connection.execute(sa.delete(invitations).where(_TABLE.expires_at <= now))


async def _withdraw(connection: Connection, which: sa.ColumnElement[bool], now: datetime) -> int:
    unanswered = which & _TABLE.accepted_at.is_(None) & _TABLE.withdrawn_at.is_(None)
    return await changed_rows(connection, sa.update(invitations).where(unanswered).values(withdrawn_at=now))


def _open(now: datetime) -> sa.ColumnElement[bool]:
    unanswered = _TABLE.accepted_at.is_(None) & _TABLE.withdrawn_at.is_(None) & is_known(_TABLE.role, Role)
    return unanswered & (_TABLE.expires_at > now) & _INVITER_ADMINISTERS


def _invitation(row: Row) -> Invitation:
    wanted = RoleGrant(user_id=row["user_id"], role=Role(row["role"]))
    return from_row(Invitation, row | {"invitation_id": row["id"], "wanted": wanted})
