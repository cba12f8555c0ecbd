"""Who read, searched, exported, revealed and changed what; append-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from psycopg.types.json import Jsonb
from sqlalchemy.ext.asyncio import AsyncConnection

from db.pool import Connection
from db.review_tables import access_log

APPEND: Final = """
    INSERT INTO access_log (action, person_id, person, user_id, decision_id, detail, address)
    VALUES (%(action)s, %(person_id)s, %(person)s, %(user_id)s, %(decision_id)s, %(detail)s, %(address)s)
"""


class Action(StrEnum):
    """What was done; stored, never renamed."""

    SIGN_IN = "sign_in"
    SIGN_IN_REFUSED = "sign_in_refused"
    SIGN_OUT = "sign_out"
    REFUSED = "refused"
    LIST = "list"
    SEARCH = "search"
    READ = "read"
    REVEAL = "reveal"
    EXPORT = "export"
    DOWNLOAD = "download"
    REVIEW = "review"
    UNDO = "undo"
    BULK_REVIEW = "bulk_review"
    QUEUE = "queue"
    FIGURES = "figures"
    RULES = "rules"
    DOCUMENTS = "documents"
    SETTINGS = "settings"
    PEOPLE = "people"
    TOKEN = "token"  # noqa: S105  # a word, not a secret
    AUDIT = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log; the database gives it number and time."""

    action: Action
    person_id: UUID | None = None
    person: str = ""
    user_id: str | None = None
    decision_id: UUID | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""


async def add(connection: AsyncConnection, entry: Entry) -> None:
    """Append one line."""
    await connection.execute(
        sa.insert(access_log).values(
            action=entry.action.value,
            person_id=entry.person_id,
            person=entry.person,
            user_id=entry.user_id,
            decision_id=entry.decision_id,
            detail=dict(entry.detail),
            address=entry.address,
        )
    )


async def add_for(connection: AsyncConnection, entry: Entry, accounts: Sequence[str]) -> None:
    """Append a line for each account that it concerns; one without an account when there is none."""
    for user_id in sorted(set(accounts)) or (None,):
        await add(connection, replace(entry, user_id=user_id))


async def append(connection: Connection, entry: Entry) -> None:
    """Append one line in a psycopg transaction."""
    values = {
        "action": entry.action.value,
        "person_id": entry.person_id,
        "person": entry.person,
        "user_id": entry.user_id,
        "decision_id": entry.decision_id,
        "detail": Jsonb(dict(entry.detail)),
        "address": entry.address,
    }
    await connection.execute(APPEND, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line as it is read."""

    number: int
    at: datetime
    person: str
    action: str
    user_id: str | None
    decision_id: UUID | None
    detail: Mapping[str, Any]
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which lines; what is None or empty asks for nothing.

    Attributes:
        accounts: those the reader may see; None for all, and then also lines without an account.
        person: a login, as it was at that time.
        before: only lines older than the one with this number, which is on the page before.
    """

    accounts: tuple[str, ...] | None
    since: datetime
    until: datetime
    person: str = ""
    action: str = ""
    user_id: str = ""
    decision_id: UUID | None = None
    before: tuple[datetime, int] | None = None


async def lines(connection: AsyncConnection, wanted: Wanted, *, limit: int) -> tuple[Line, ...]:
    """The newest lines that are wanted, newest first."""
    column = access_log.c
    conditions = [column.at >= wanted.since, column.at <= wanted.until]
    if wanted.accounts is not None:
        conditions.append(column.user_id.in_(wanted.accounts))
    named = {name: getattr(wanted, name) for name in ("person", "action", "user_id", "decision_id")}
    conditions += [column[name] == value for name, value in named.items() if value]
    if wanted.before is not None:
        at, number = wanted.before
        conditions += [column.at <= at, sa.tuple_(column.at, column.id) < sa.tuple_(at, number)]
    query = sa.select(access_log).where(*conditions).order_by(column.at.desc(), column.id.desc()).limit(limit)
    return tuple(_line(row) for row in await connection.execute(query))


def _line(row: Any) -> Line:  # noqa: ANN401  # a row of SQLAlchemy
    return Line(
        number=row.id,
        at=row.at,
        person=row.person,
        action=row.action,
        user_id=row.user_id,
        decision_id=row.decision_id,
        detail=row.detail,
        address=row.address,
    )
