"""Backtests: decisions made again with a candidate, in chunks that survive a killed run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from db.identifiers import uuid_at, uuid_time
from db.pool import Pool, checkout, fetch_dicts, fetch_rows, fetch_value

COLUMNS: Final = (
    "id AS backtest_id, user_id, base_version, changes, since, until, total, done, position, counts,"
    " examples, created_by, created_at, finished_at"
)
INSERT: Final = f"""
    INSERT INTO backtests (id, user_id, base_version, changes, since, until, total, created_by, created_at)
    VALUES (%(id)s, %(user_id)s, %(base_version)s, %(changes)s, %(since)s, %(until)s, %(total)s,
        %(created_by)s, %(now)s)
    RETURNING {COLUMNS}
"""
UNFINISHED: Final = f"""
    SELECT {COLUMNS} FROM backtests
    WHERE user_id = %(user_id)s AND base_version = %(base_version)s AND changes = %(changes)s
        AND finished_at IS NULL AND until - since = %(span)s AND until > %(until)s - interval '1 day'
    ORDER BY id DESC LIMIT 1
"""
GET: Final = f"SELECT {COLUMNS} FROM backtests WHERE id = %s"
LIST: Final = f"SELECT {COLUMNS} FROM backtests WHERE user_id = %s ORDER BY id DESC LIMIT %s"
STORE: Final = """
    UPDATE backtests SET done = %(done)s, position = %(position)s, counts = %(counts)s,
        examples = %(examples)s, finished_at = %(finished_at)s
    WHERE id = %(id)s AND finished_at IS NULL RETURNING id
"""
TOTAL: Final = """
    SELECT count(*) FROM ai_decisions
    WHERE user_id = %(user_id)s AND created_at >= %(since)s AND created_at < %(until)s
"""
CHUNK: Final = """
    SELECT id FROM ai_decisions
    WHERE user_id = %(user_id)s AND created_at >= %(since)s AND created_at < %(until)s
        AND (%(after)s::uuid IS NULL OR (created_at, id) > (%(after_at)s, %(after)s))
    ORDER BY created_at, id LIMIT %(most)s
"""
NEWEST: Final = """
    SELECT id FROM ai_decisions WHERE user_id = %s AND created_at >= %s AND created_at < %s
    ORDER BY created_at DESC, id DESC LIMIT %s
"""
REVIEWED: Final = """
    SELECT decision_id, state FROM review_states
    WHERE decision_id = ANY(%s) AND state IN ('agree', 'overturn')
"""
TIME_OF: Final = "SELECT created_at FROM ai_decisions WHERE id = %s AND user_id = %s AND created_at >= %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """One backtest.

    Attributes:
        base_version: of the settings that the changes were made from.
        total: decisions in its range when it began.
        position: the last decision that was counted; None before the first.
        counts: group -> decisions, and what goes with them; see ``trials.jobs.backtest_job``.
        examples: some decisions of each group, without texts.
    """

    backtest_id: UUID
    user_id: str
    base_version: int
    changes: Mapping[str, Any]
    since: datetime
    until: datetime
    total: int
    done: int
    position: UUID | None
    created_by: str
    created_at: datetime
    counts: Mapping[str, Any] = field(default_factory=dict)
    examples: Sequence[Mapping[str, Any]] = ()
    finished_at: datetime | None = None


async def begin_backtest(
    source: Pool,
    user_id: str,
    *,
    base_version: int,
    changes: Mapping[str, Any],
    since: datetime,
    until: datetime,
    created_by: str,
) -> Backtest:
    """The same backtest that a run of the last day left unfinished, or a new one that ends ``until``."""
    values = {
        "id": uuid_at(until),
        "user_id": user_id,
        "base_version": base_version,
        "changes": Jsonb(dict(changes)),
        "since": since,
        "until": until,
        "span": until - since,
        "created_by": created_by,
        "now": until,
    }
    if found := await _one(source, UNFINISHED, values):
        return found
    total = await fetch_value(source, TOTAL, values)
    stored = await _one(source, INSERT, {**values, "total": total})
    assert stored is not None  # INSERT ... RETURNING gives a row or raises
    return stored


async def next_chunk(source: Pool, found: Backtest, most: int) -> tuple[UUID, ...]:
    """The next decisions of a backtest, the oldest first."""
    after_at = None
    if found.position is not None:
        after_at = await fetch_value(source, TIME_OF, (found.position, found.user_id, found.since))
        after_at = after_at or uuid_time(found.position)  # retention may have deleted that decision
    values = {
        "user_id": found.user_id,
        "since": found.since,
        "until": found.until,
        "after": found.position,
        "after_at": after_at,
        "most": most,
    }
    return tuple(row[0] for row in await fetch_rows(source, CHUNK, values))


async def newest_decisions(
    source: Pool, user_id: str, *, since: datetime, until: datetime, most: int
) -> tuple[UUID, ...]:
    """The newest decisions of an account in a range."""
    return tuple(row[0] for row in await fetch_rows(source, NEWEST, (user_id, since, until, most)))


async def store_progress(source: Pool, found: Backtest) -> None:
    """Store what was counted so far."""
    values = {
        "id": found.backtest_id,
        "done": found.done,
        "position": found.position,
        "counts": Jsonb(dict(found.counts)),
        "examples": Jsonb([dict(each) for each in found.examples]),
        "finished_at": found.finished_at,
    }
    await fetch_rows(source, STORE, values)


async def get_backtest(source: Pool, backtest_id: UUID) -> Backtest | None:
    """A backtest, or None."""
    return await _one(source, GET, (backtest_id,))


async def list_backtests(source: Pool, user_id: str, *, limit: int = 20) -> tuple[Backtest, ...]:
    """The backtests of an account, the newest first."""
    async with checkout(source) as connection:
        cursor = connection.cursor(row_factory=class_row(Backtest))
        return tuple(await (await cursor.execute(LIST, (user_id, limit))).fetchall())


async def reviewed_states(source: Pool, ids: Sequence[UUID]) -> dict[UUID, str]:
    """What people said of decisions: ``agree`` or ``overturn``; the others are left out."""
    rows = await fetch_dicts(source, REVIEWED, (list(ids),))
    return {row["decision_id"]: row["state"] for row in rows}


async def _one(source: Pool, statement: str, values: Any) -> Backtest | None:
    async with checkout(source) as connection:
        cursor = connection.cursor(row_factory=class_row(Backtest))
        return await (await cursor.execute(statement, values)).fetchone()
