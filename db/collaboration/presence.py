"""Who has a decision's page open: rows that end by their age."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from db.collaboration.tables import decision_presence
from db.connection import Connection
from db.rows import changed_rows

BEAT_S: Final = 15
"""Pause between two heartbeats of an open page."""
PRESENT: Final = timedelta(seconds=3 * BEAT_S)
"""A person without a heartbeat for this long has left."""
OTHERS: Final = sa.text("""
    SELECT coalesce(nullif(p.name, ''), p.login) AS name
    FROM decision_presence d JOIN people p ON p.id = d.person_id
    WHERE d.decision_id = :decision AND d.person_id <> :person AND d.seen_at > :since
    ORDER BY name, p.login LIMIT 20
""")


async def note_presence(connection: Connection, decision_id: UUID, person_id: UUID, now: datetime) -> None:
    """The person has the page open now."""
    statement = insert(decision_presence).values(decision_id=decision_id, person_id=person_id, seen_at=now)
    await connection.execute(
        statement.on_conflict_do_update(index_elements=["decision_id", "person_id"], set_={"seen_at": now})
    )


async def others_present(
    connection: Connection, decision_id: UUID, person_id: UUID, now: datetime
) -> tuple[str, ...]:
    """The names of other people who have the page open."""
    values = {"decision": decision_id, "person": person_id, "since": now - PRESENT}
    return tuple((await connection.execute(OTHERS, values)).scalars())


async def delete_past_presence(connection: Connection, now: datetime) -> int:
    """Delete the rows of pages that were left; how many."""
    gone = sa.delete(decision_presence).where(decision_presence.c.seen_at <= now - PRESENT)
    return await changed_rows(connection, gone)
