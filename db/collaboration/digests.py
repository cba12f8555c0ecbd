"""Digests that people ordered: what they chose, which are due, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from db.collaboration.tables import digests
from db.connection import Connection
from db.rows import first_row

LEASE: Final = timedelta(minutes=5)
"""A process that has claimed a digest has sent it, or died, by then."""
MOST_ATTEMPTS: Final = 5
COLUMNS: Final = "person_id, period, channel, address, secret, due_at, attempts, sent_at, problem"
CLAIM: Final = sa.text(f"""
    UPDATE digests SET claimed_until = :until, attempts = attempts + 1 WHERE person_id = (
        SELECT d.person_id FROM digests d JOIN people p ON p.id = d.person_id
        WHERE d.due_at <= :now AND (d.claimed_until IS NULL OR d.claimed_until <= :now)
            AND p.disabled_at IS NULL
        ORDER BY d.due_at LIMIT 1 FOR UPDATE OF d SKIP LOCKED)
    RETURNING {COLUMNS}
""")
END: Final = sa.text("""
    UPDATE digests SET due_at = :next, claimed_until = NULL, attempts = 0, problem = :problem,
        sent_at = CASE WHEN :sent THEN :now ELSE sent_at END
    WHERE person_id = :person AND due_at = :due
""")
RETRY: Final = sa.text("""
    UPDATE digests SET claimed_until = :until, problem = :problem WHERE person_id = :person AND due_at = :due
""")


class DigestPeriod(StrEnum):
    """How often; stored, never renamed."""

    OFF = "off"
    DAILY = "daily"
    WEEKLY = "weekly"


class DigestChannel(StrEnum):
    """Which way; stored, never renamed."""

    MAIL = "mail"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a person ordered.

    Attributes:
        address: an e-mail address or a URL.
        secret: of the webhook's signature; None for mail.
        due_at: the next one; None with ``off``.
        attempts: of the one that is due.
        problem: why the last attempt failed, as a code.
    """

    person_id: UUID
    period: DigestPeriod
    channel: DigestChannel
    address: str
    secret: str | None = None
    due_at: datetime | None = None
    attempts: int = 0
    sent_at: datetime | None = None
    problem: str | None = None


async def load_digest(connection: Connection, person_id: UUID) -> Digest | None:
    """What a person ordered; None when they never did."""
    query = sa.text(f"SELECT {COLUMNS} FROM digests WHERE person_id = :person")
    return _digest(await first_row(connection, query, {"person": person_id}))


async def store_digest(connection: Connection, ordered: Digest, now: datetime) -> None:
    """Store what a person orders from now on."""
    row = {
        "period": ordered.period.value,
        "channel": ordered.channel.value,
        "address": ordered.address,
        "secret": ordered.secret,
        "due_at": ordered.due_at,
        "claimed_until": None,
        "attempts": 0,
        "problem": None,
        "changed_at": now,
    }
    statement = insert(digests).values(row | {"person_id": ordered.person_id})
    await connection.execute(statement.on_conflict_do_update(index_elements=["person_id"], set_=row))


async def claim_due(connection: Connection, now: datetime) -> Digest | None:
    """The digest that has been due longest, for this process alone until ``LEASE`` is over; None: none is."""
    return _digest(await first_row(connection, CLAIM, {"now": now, "until": now + LEASE}))


async def end_digest(
    connection: Connection,
    digest: Digest,
    *,
    next_at: datetime,
    now: datetime,
    sent: bool,
    problem: str | None = None,
) -> None:
    """Close a claimed digest: sent, empty or failed. A digest requested again stays unchanged."""
    values = {"person": digest.person_id, "due": digest.due_at, "now": now, "sent": sent}
    await connection.execute(END, values | {"next": next_at, "problem": problem})


async def retry_digest(connection: Connection, digest: Digest, *, retry_at: datetime, problem: str) -> None:
    """A claimed one was not sent: try again later."""
    values = {"person": digest.person_id, "due": digest.due_at, "until": retry_at, "problem": problem}
    await connection.execute(RETRY, values)


def _digest(row: dict[str, object] | None) -> Digest | None:
    if row is None:
        return None
    kinds = {"period": DigestPeriod(str(row["period"])), "channel": DigestChannel(str(row["channel"]))}
    return Digest(**{**row, **kinds})  # type: ignore[arg-type]
