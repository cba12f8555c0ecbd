"""Second factors of people: one time-based code generator each, with recovery codes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from db.connection import Connection
from db.people.tables import second_factors
from db.rows import changed_rows, first_row


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactor:
    """A person's code generator.

    Attributes:
        secret: the shared key of RFC 6238 as the review pages store it, sealed or not.
        confirmed: True once a code of it was entered; only then it counts.
        codes_left: recovery codes that were not used.
    """

    secret: bytes
    confirmed: bool
    codes_left: int


def recovery_hash(code: str) -> bytes:
    """The stored hash of a recovery code of 80 random bits; those need no salt."""
    return hashlib.sha256(code.encode()).digest()


async def get_factor(connection: Connection, person_id: UUID) -> SecondFactor | None:
    """The person's generator, or None."""
    table = second_factors.c
    left = sa.func.cardinality(table.recovery_hashes).label("codes_left")
    query = sa.select(table.secret, table.confirmed_at, left).where(table.person_id == person_id)
    row = await first_row(connection, query)
    if row is None:
        return None
    return SecondFactor(
        secret=row["secret"], confirmed=row["confirmed_at"] is not None, codes_left=row["codes_left"]
    )


async def propose_factor(connection: Connection, person_id: UUID, secret: bytes) -> bool:
    """Store a secret that is not confirmed yet; False when the person has a confirmed one."""
    statement = insert(second_factors).values(person_id=person_id, secret=secret)
    replaced = statement.on_conflict_do_update(
        index_elements=["person_id"],
        set_={"secret": secret},
        where=second_factors.c.confirmed_at.is_(None),
    )
    stored = await connection.execute(replaced.returning(second_factors.c.person_id))
    return stored.first() is not None


async def confirm_factor(
    connection: Connection,
    person_id: UUID,
    secret: bytes,
    *,
    step: int,
    recovery_hashes: Sequence[bytes],
    now: datetime,
) -> bool:
    """Switch the proposed secret on; ``step`` is that of the code entered. False when it was replaced."""
    table = second_factors.c
    mine = (table.person_id == person_id) & (table.secret == secret) & table.confirmed_at.is_(None)
    values = {"confirmed_at": now, "last_step": step, "recovery_hashes": list(recovery_hashes)}
    return bool(await changed_rows(connection, sa.update(second_factors).where(mine).values(values)))


async def use_step(connection: Connection, person_id: UUID, step: int) -> bool:
    """Use the code of a time step, once; False when this or a later code was used."""
    table = second_factors.c
    unused = (table.person_id == person_id) & table.confirmed_at.is_not(None) & (table.last_step < step)
    return bool(
        await changed_rows(connection, sa.update(second_factors).where(unused).values(last_step=step))
    )


async def use_recovery_code(connection: Connection, person_id: UUID, code_hash: bytes) -> bool:
    """Use a recovery code, once; False when the person has no such code."""
    table = second_factors.c
    mine = (table.person_id == person_id) & table.confirmed_at.is_not(None)
    unused = mine & (sa.literal(code_hash, sa.LargeBinary) == sa.any_(table.recovery_hashes))
    left = sa.func.array_remove(table.recovery_hashes, sa.literal(code_hash, sa.LargeBinary))
    statement = sa.update(second_factors).where(unused).values(recovery_hashes=left)
    return bool(await changed_rows(connection, statement))


async def remove_factor(connection: Connection, person_id: UUID) -> bool:
    """Remove the person's generator; False when there was none."""
    mine = second_factors.c.person_id == person_id
    return bool(await changed_rows(connection, sa.delete(second_factors).where(mine)))
