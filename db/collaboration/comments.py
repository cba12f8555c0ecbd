"""Comments on a decision, and the mentions in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.collaboration.tables import comment_mentions, decision_comments
from db.connection import Connection
from db.identifiers import uuid_at
from db.rows import account_parameters, changed_rows, rows_as

COMMENT_CHARS: Final = 2000
MOST_COMMENTS: Final = 200
MOST_MENTIONS: Final = 50
LIST: Final = sa.text("""
    SELECT c.id, c.person_id, coalesce(nullif(p.name, ''), p.login) AS name, c.text, c.created_at,
           c.withdrawn_at
    FROM decision_comments c JOIN people p ON p.id = c.person_id
    WHERE c.decision_id = :decision ORDER BY c.id DESC LIMIT :most
""")
WITHDRAW: Final = sa.text("""
    WITH mine AS (
        UPDATE decision_comments SET text = '', withdrawn_at = :now
        WHERE id = :comment AND decision_id = :decision AND person_id = :person AND withdrawn_at IS NULL
        RETURNING id
    ), forgotten AS (
        DELETE FROM comment_mentions WHERE comment_id IN (SELECT id FROM mine))
    SELECT count(*) FROM mine
""")
MENTIONS: Final = sa.text("""
    SELECT c.id AS comment_id, c.decision_id, c.user_id, coalesce(nullif(p.name, ''), p.login) AS name,
           c.created_at, m.seen_at
    FROM comment_mentions m JOIN decision_comments c ON c.id = m.comment_id
        JOIN people p ON p.id = c.person_id
    WHERE m.person_id = :person AND (:every OR m.user_id = ANY(:accounts))
    ORDER BY m.comment_id DESC LIMIT :most
""")
SEEN: Final = sa.text("""
    UPDATE comment_mentions m SET seen_at = :now FROM decision_comments c
    WHERE c.id = m.comment_id AND c.decision_id = :decision AND m.person_id = :person AND m.seen_at IS NULL
""")
UNREAD_HERE: Final = sa.text("""
    SELECT EXISTS (SELECT FROM decision_comments c JOIN comment_mentions m ON m.comment_id = c.id
                   WHERE c.decision_id = :decision AND m.person_id = :person AND m.seen_at IS NULL)
""")
SEEN_ALL: Final = sa.text("""
    UPDATE comment_mentions SET seen_at = :now WHERE person_id = :person AND seen_at IS NULL
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComment:
    """A comment to append; ``mentioned`` are people who may see the account."""

    decision_id: UUID
    decision_at: datetime
    user_id: str
    person_id: UUID
    person: str
    text: str
    mentioned: Collection[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A stored comment; without text when its author has withdrawn it."""

    id: UUID
    person_id: UUID
    name: str
    text: str
    created_at: datetime
    withdrawn_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A comment that mentions a person, without its text; ``seen_at`` None: unread."""

    comment_id: UUID
    decision_id: UUID
    user_id: str
    name: str
    created_at: datetime
    seen_at: datetime | None


async def list_comments(connection: Connection, decision_id: UUID) -> tuple[Comment, ...]:
    """The newest comments of a decision, oldest first."""
    values = {"decision": decision_id, "most": MOST_COMMENTS}
    return (await rows_as(connection, Comment, LIST, values))[::-1]


async def add_comment(connection: Connection, new: NewComment, now: datetime) -> None:
    """Append a comment with its mentions; a mention of oneself is dropped."""
    names = ("decision_id", "decision_at", "user_id", "person_id", "person", "text")
    row = {name: getattr(new, name) for name in names} | {"id": uuid_at(now), "created_at": now}
    await connection.execute(sa.insert(decision_comments).values(row))
    mentions = [
        {"comment_id": row["id"], "person_id": each, "user_id": new.user_id}
        for each in set(new.mentioned)
        if each != new.person_id
    ]
    if mentions:
        await connection.execute(sa.insert(comment_mentions).values(mentions))


async def withdraw_comment(
    connection: Connection, comment_id: UUID, decision_id: UUID, person_id: UUID, now: datetime
) -> bool:
    """Erase the text and the mentions of a person's own comment; False when no such comment stands."""
    values = {"comment": comment_id, "decision": decision_id, "person": person_id, "now": now}
    return bool((await connection.execute(WITHDRAW, values)).scalar_one())


async def list_mentions(
    connection: Connection, person_id: UUID, accounts: Sequence[str] | None
) -> tuple[Mention, ...]:
    """The newest mentions of a person, newest first; ``accounts`` are those the person may see."""
    values = {"person": person_id, "most": MOST_MENTIONS, **account_parameters(accounts)}
    return await rows_as(connection, Mention, MENTIONS, values)


async def has_unread(connection: Connection, person_id: UUID, decision_id: UUID) -> bool:
    """Whether a comment on the decision mentions the person, who has not read it."""
    values = {"person": person_id, "decision": decision_id}
    return bool((await connection.execute(UNREAD_HERE, values)).scalar_one())


async def mark_seen(
    connection: Connection, person_id: UUID, now: datetime, decision_id: UUID | None = None
) -> int:
    """Mark the mentions on one decision, or all, as read; how many were unread."""
    values = {"person": person_id, "now": now}
    if decision_id is None:
        return await changed_rows(connection, SEEN_ALL, values)
    return await changed_rows(connection, SEEN, values | {"decision": decision_id})
