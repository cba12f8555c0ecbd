"""What happened at a time: notes of leads, and versions of settings, for the plots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from db.connection import Connection
from db.figures.reach import FigureFilter
from db.figures.tables import figure_notes
from db.rows import all_rows, changed_rows, first_row

NOTE_CHARS: Final = 200
MOST_NOTES: Final = 50
MOST_ACCOUNTS: Final = 20
"""Versions are read for at most so many accounts: of more, the plots would be full of lines."""
_NOTES: Final = sa.text("""
    SELECT id AS note_id, user_id, at, text, created_by AS person FROM figure_notes
    WHERE at >= :since AND at < :until
          AND (CAST(:users AS text[]) IS NULL OR user_id = '' OR user_id = ANY (CAST(:users AS text[])))
    ORDER BY at DESC LIMIT :most
""")
_VERSIONS: Final = sa.text("""
    SELECT user_id, version, changed_at AS at, changed_by AS person FROM ai_rules
    WHERE user_id = ANY (:users) AND changed_at >= :since AND changed_at < :until
    ORDER BY changed_at DESC LIMIT :most
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """A note or a new version of an account's settings.

    Attributes:
        user_id: the account; empty: all accounts.
        text: of a note; empty for a version.
        note_id: of a note.
        version: of the settings.
        person: who wrote it, as a login.
    """

    at: datetime
    user_id: str
    text: str = ""
    person: str = ""
    note_id: int | None = None
    version: int | None = None


async def load_happenings(connection: Connection, filters: FigureFilter) -> tuple[Happening, ...]:
    """Notes and versions of a range, the newest first."""
    users = filters.chosen
    values = {"since": filters.since, "until": filters.until, "users": users, "most": MOST_NOTES}
    rows = [*await all_rows(connection, _NOTES, values)]
    if users is not None and len(users) <= MOST_ACCOUNTS:
        rows += await all_rows(connection, _VERSIONS, values)
    return tuple(sorted((Happening(**row) for row in rows), key=lambda each: each.at, reverse=True))


async def add_note(connection: Connection, user_id: str, *, at: datetime, text: str, person: str) -> int:
    """Add a note; its id."""
    values = {"user_id": user_id, "at": at, "text": text, "created_by": person}
    query = sa.insert(figure_notes).values(values).returning(figure_notes.c.id)
    return int((await connection.execute(query)).scalar_one())


async def note_account(connection: Connection, note_id: int) -> str | None:
    """The account of a note, empty for all accounts; None where there is no such note."""
    row = await first_row(connection, sa.select(figure_notes.c.user_id).where(figure_notes.c.id == note_id))
    return None if row is None else str(row["user_id"])


async def remove_note(connection: Connection, note_id: int) -> bool:
    """Remove a note; False where there was none."""
    return await changed_rows(connection, sa.delete(figure_notes).where(figure_notes.c.id == note_id)) > 0
