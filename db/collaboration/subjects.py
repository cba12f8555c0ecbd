"""Notes and tags of an author or a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from db.collaboration.tables import subject_notes, subject_tags
from db.connection import Connection
from db.identifiers import uuid_at
from db.rows import changed_rows, rows_as

NOTE_CHARS: Final = 2000
TAG_CHARS: Final = 40
MOST_TAGS: Final = 20
MOST_NOTES: Final = 100
"""Notes that are read: the newest."""


class SubjectKind(StrEnum):
    """What a note or tag is about; stored, never renamed."""

    AUTHOR = "author"
    CONVERSATION = "conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An author or a conversation of one account."""

    user_id: str
    kind: SubjectKind
    id: str

    def values(self) -> dict[str, str]:
        """The columns that name it."""
        return {"user_id": self.user_id, "kind": self.kind.value, "subject": self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectNote:
    """A note; ``person`` is the login at that time."""

    id: UUID
    text: str
    person: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectTag:
    """A tag; ``added_by`` is the login at that time."""

    tag: str
    added_by: str
    added_at: datetime


async def list_notes(connection: Connection, subject: Subject) -> tuple[SubjectNote, ...]:
    """The notes, newest first."""
    table = subject_notes.c
    query = sa.select(table.id, table.text, table.person, table.created_at).where(
        *_of(subject_notes, subject)
    )
    return await rows_as(connection, SubjectNote, query.order_by(table.id.desc()).limit(MOST_NOTES))


async def add_note(
    connection: Connection, subject: Subject, text: str, *, person: str, now: datetime
) -> None:
    """Append a note."""
    row = {**subject.values(), "id": uuid_at(now), "text": text, "person": person, "created_at": now}
    await connection.execute(sa.insert(subject_notes).values(row))


async def list_tags(connection: Connection, subject: Subject) -> tuple[SubjectTag, ...]:
    """The tags by name."""
    table = subject_tags.c
    query = sa.select(table.tag, table.added_by, table.added_at).where(*_of(subject_tags, subject))
    return await rows_as(connection, SubjectTag, query.order_by(table.tag))


async def add_tag(connection: Connection, subject: Subject, tag: str, *, person: str, now: datetime) -> bool:
    """Add a tag; False when the subject has the tag already."""
    row = {**subject.values(), "tag": tag, "added_by": person, "added_at": now}
    return bool(await changed_rows(connection, insert(subject_tags).values(row).on_conflict_do_nothing()))


async def remove_tag(connection: Connection, subject: Subject, tag: str) -> bool:
    """Remove a tag; False when the subject does not have the tag."""
    statement = sa.delete(subject_tags).where(*_of(subject_tags, subject), subject_tags.c.tag == tag)
    return bool(await changed_rows(connection, statement))


def _of(table: sa.Table, subject: Subject) -> list[sa.ColumnElement[Any]]:
    return [table.c[name] == value for name, value in subject.values().items()]
