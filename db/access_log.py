"""The access log: who read, searched, exported, revealed and changed what; append-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.pool import Pool, checkout
from db.review_tables import access_log
from db.rows import Shape, Values, row_as


class LoggedAction(StrEnum):
    """A logged action; stored, never renamed."""

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
    CLAIM = "claim"
    KNOWN_ANSWER = "known_answer"
    FIGURES = "figures"
    RULES = "rules"
    DOCUMENTS = "documents"
    SETTINGS = "settings"
    PEOPLE = "people"
    TOKEN = "token"  # noqa: S105  # a word, not a secret
    AUDIT = "audit"
    CONVERSATION = "conversation"
    FAILED_OPEN = "failed_open"
    WEBHOOK = "webhook"
    ANSWER = "answer"
    HOLD = "hold"
    ERASURE = "erasure"
    NOTE = "note"
    COMMENT = "comment"
    ASSIGN = "assign"
    APPEAL = "appeal"
    DEAD_LETTER = "dead_letter"
    REPAIR = "repair"
    LATE_MODERATION = "late_moderation"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """A line to append; the database adds number and time."""

    action: LoggedAction
    person_id: UUID | None = None
    person: str = ""
    user_id: str | None = None
    decision_id: UUID | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""


async def append_entry(connection: Connection, entry: LogEntry) -> None:
    """Append one line."""
    without_returning = sa.insert(access_log).inline()  # the gateway may not read the log
    await connection.execute(without_returning.values(**_columns(entry)))


async def change_logged(
    source: Pool, shape: type[Shape], statement: str, values: Values, logged: LogEntry | None
) -> Shape | None:
    """The changed row, with its line in the same transaction; None: nothing was changed."""
    async with checkout(source) as connection, connection.transaction():
        changed = await row_as(connection, shape, statement, values)
        if changed is not None and logged is not None:
            await append_entry(connection, logged)
    return changed


async def append_entries_for_accounts(
    connection: Connection, entry: LogEntry, accounts: Sequence[str]
) -> None:
    """Append one line per account; without accounts, one line without an account."""
    for user_id in sorted(set(accounts)) or (None,):
        await append_entry(connection, replace(entry, user_id=user_id))


def _columns(entry: LogEntry) -> dict[str, Any]:
    return {each.name: getattr(entry, each.name) for each in fields(entry)} | {
        "action": entry.action.value,
        "detail": dict(entry.detail),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of the access log."""

    number: int
    at: datetime
    person: str
    action: str
    user_id: str | None
    decision_id: UUID | None
    detail: Mapping[str, Any]
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which lines to list; fields that are None or empty do not filter.

    Attributes:
        accounts: accounts the auditor may see; None for all, including lines without an account.
        person: a login at that time.
        before: time and number of the last line of the previous page; only older lines are listed.
    """

    accounts: tuple[str, ...] | None
    since: datetime
    until: datetime
    person: str = ""
    action: str = ""
    user_id: str = ""
    decision_id: UUID | None = None
    before: tuple[datetime, int] | None = None


async def list_lines(connection: Connection, filters: LogFilter, *, limit: int) -> tuple[LogLine, ...]:
    """The newest matching lines, newest first."""
    column = access_log.c
    conditions = [column.at >= filters.since, column.at <= filters.until]
    if filters.accounts is not None:
        conditions.append(column.user_id.in_(filters.accounts))
    named = {name: getattr(filters, name) for name in ("person", "action", "user_id", "decision_id")}
    conditions += [column[name] == value for name, value in named.items() if value]
    if filters.before is not None:
        at, number = filters.before
        conditions += [column.at <= at, sa.tuple_(column.at, column.id) < sa.tuple_(at, number)]
    query = (
        sa.select(*access_log.c, column.id.label("number"))
        .where(*conditions)
        .order_by(column.at.desc(), column.id.desc())
        .limit(limit)
    )
    return tuple(
        LogLine(**{each.name: row[each.name] for each in fields(LogLine)})
        for row in (await connection.execute(query)).dicts()
    )
