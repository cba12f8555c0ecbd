"""The language and time zone that a person chose."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.people.tables import people


async def set_choice(
    connection: Connection, person_id: UUID, *, language: str | None, time_zone: str | None
) -> None:
    """Store a choice; an empty text removes it, None leaves it."""
    given = {"language": language, "time_zone": time_zone}
    values = {name: value or None for name, value in given.items() if value is not None}
    if values:
        await connection.execute(sa.update(people).where(people.c.id == person_id).values(**values))
