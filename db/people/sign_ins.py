"""Counted sign-in attempts, sign-in links, and sign-ins in progress at the identity provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from db.connection import Connection
from db.people.sessions import token_hash
from db.people.tables import oidc_states, sign_in_attempts, sign_in_links
from db.rows import changed_rows, first_row

KEPT: Final = timedelta(days=1)
LINK_VALID_FOR: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTries:
    """Failed sign-in attempts; a stranger is a browser without a device cookie.

    Attributes:
        in_a_row: failed tries of this login since the last success, by this device or by all strangers.
        from_address: failed tries of strangers from this address since ``since``.
        overall: failed tries of strangers from anywhere since ``since``.
    """

    in_a_row: int
    last: datetime | None
    from_address: int
    overall: int


async def count_tries(
    connection: Connection, login: str, *, device: str, address: str, since: datetime
) -> FailedTries:
    """Count failed attempts; other attempts of this login wait until this transaction ends."""
    lock = sa.text("SELECT pg_advisory_xact_lock(hashtextextended('hushgate sign-in ' || :login, 0))")
    await connection.execute(lock, {"login": login})
    table = sign_in_attempts.c
    mine = (table.login == login) & (table.device == device)
    last_right = sa.select(sa.func.max(table.id)).where(mine, table.worked).scalar_subquery()
    wrong = sa.select(sa.func.count(), sa.func.max(table.at)).where(
        mine, ~table.worked, table.id > sa.func.coalesce(last_right, 0)
    )
    in_a_row, last = (await connection.execute(wrong)).one()
    strangers = (~table.worked) & (table.device == "") & (table.at > since)
    counts = sa.select(
        sa.func.count().filter(table.address == address).label("here"), sa.func.count().label("overall")
    ).where(strangers)
    recent = (await connection.execute(counts)).one()
    return FailedTries(in_a_row=in_a_row, last=last, from_address=recent.here, overall=recent.overall)


async def record_try(connection: Connection, login: str, *, device: str, address: str, now: datetime) -> int:
    """Record an attempt as failed before the check, so that concurrent ones count; its number."""
    row = sa.insert(sign_in_attempts).values(
        at=now, login=login, device=device, address=address, worked=False
    )
    return int((await connection.execute(row.returning(sign_in_attempts.c.id))).scalar_one())


def code_login(login: str) -> str:
    """The name under which attempts at the second factor of a login are counted."""
    return f"{login} (second factor)"


async def record_success(connection: Connection, number: int) -> None:
    """Record that an attempt succeeded."""
    await connection.execute(
        sa.update(sign_in_attempts).where(sign_in_attempts.c.id == number).values(worked=True)
    )


async def forget_tries(connection: Connection, login: str) -> int:
    """Unlock a login: delete its attempts; how many."""
    return await changed_rows(
        connection,
        sa.delete(sign_in_attempts).where(sign_in_attempts.c.login.in_((login, code_login(login)))),
    )


async def add_link(connection: Connection, token: str, person_id: UUID, *, now: datetime) -> None:
    """Store a link that signs a person in once, within ``LINK_VALID_FOR``; the person's older links end."""
    await end_links(connection, person_id)
    await connection.execute(
        sa.insert(sign_in_links).values(
            token_hash=token_hash(token), person_id=person_id, expires_at=now + LINK_VALID_FOR
        )
    )


async def end_links(connection: Connection, person_id: UUID) -> int:
    """End the sign-in links of a person; how many."""
    return await changed_rows(
        connection, sa.delete(sign_in_links).where(sign_in_links.c.person_id == person_id)
    )


async def take_link(connection: Connection, token: str, *, now: datetime) -> UUID | None:
    """The person a link signs in, once: of two concurrent uses one gets None."""
    statement = (
        sa.delete(sign_in_links)
        .where(sign_in_links.c.token_hash == token_hash(token))
        .returning(sign_in_links.c.person_id, sign_in_links.c.expires_at)
    )
    row = (await connection.execute(statement)).first()
    return row.person_id if row is not None and row.expires_at > now else None


async def add_state(
    connection: Connection, state: str, data: Mapping[str, Any], *, expires_at: datetime
) -> None:
    """Store a sign-in in progress at the identity provider."""
    await connection.execute(
        sa.insert(oidc_states).values(state_hash=token_hash(state), data=dict(data), expires_at=expires_at)
    )


async def take_state(connection: Connection, state: str, *, now: datetime) -> dict[str, Any] | None:
    """The stored sign-in, once; None when there is none or it has expired."""
    statement = sa.delete(oidc_states).where(oidc_states.c.state_hash == token_hash(state))
    row = await first_row(connection, statement.returning(oidc_states.c.data, oidc_states.c.expires_at))
    return row["data"] if row and row["expires_at"] > now else None


async def use_once(connection: Connection, name: str, *, expires_at: datetime) -> bool:
    """Note a name until a time; False when the name is noted already."""
    statement = insert(oidc_states).values(state_hash=token_hash(name), data={}, expires_at=expires_at)
    unless_known = statement.on_conflict_do_nothing().returning(oidc_states.c.expires_at)
    return (await connection.execute(unless_known)).first() is not None


async def keep_newest_states(connection: Connection, most: int) -> int:
    """Delete all but the newest sign-ins in progress at the identity provider; how many."""
    begun = oidc_states.c.data.has_key("nonce")  # others are names that were used once
    old = sa.select(oidc_states.c.state_hash).where(begun).order_by(oidc_states.c.expires_at.desc())
    statement = sa.delete(oidc_states).where(oidc_states.c.state_hash.in_(old.offset(most)))
    return await changed_rows(connection, statement)


async def delete_expired_sign_ins(connection: Connection, *, now: datetime) -> None:
    """Delete expired attempts, links and sign-ins in progress."""
    await connection.execute(sa.delete(sign_in_attempts).where(sign_in_attempts.c.at < now - KEPT))
    await connection.execute(sa.delete(sign_in_links).where(sign_in_links.c.expires_at <= now))
    await connection.execute(sa.delete(oidc_states).where(oidc_states.c.expires_at <= now))
