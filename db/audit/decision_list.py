"""Reads the audit: pages of decisions, newest first, their number, and one decision with its snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from psycopg import IsolationLevel

from db.audit import decision_context, search
from db.audit.cursor import EPOCH, Direction, Position, parse_cursor
from db.audit.estimates import estimated_rows, with_scan_hint
from db.audit.filters import Filters
from db.audit.search import Patience, SearchRow, TooSlow, matching_query, statement_limit
from db.connection import Connection
from db.rows import all_rows
from db.tables import HIGH_SCORE_CATEGORIES, ai_decisions

MOST_COUNTED: Final = 1000
ESTIMATED_FROM: Final = 20_000
COUNT_S: Final = 0.02
"""A count that takes longer is replaced by an estimate, so that it does not delay the page."""


BRIEF: Final = Patience(at_once_s=0.05, slices_s=0.0)
"""A search for the next decision that takes longer gives no link, so that it does not delay the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """Some decisions, newest first unless the oldest were asked for first.

    Attributes:
        newer: cursor of the page above; None at the top.
        older: cursor of the page below; None at the end.
        searched_to: where a search that took too long stopped; ``older`` or ``newer`` continues from there.
    """

    rows: tuple[SearchRow, ...]
    newer: str | None = None
    older: str | None = None
    searched_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCount:
    """A number of decisions; ``exact`` is False for the planner's estimate."""

    number: int
    exact: bool


@asynccontextmanager
async def read_connection(url: str) -> AsyncIterator[Connection]:
    """A read-only connection; its first statement begins a transaction, ``rollback`` ends it."""
    connecting = Connection.connect(
        url,
        connect_timeout=10,
        prepare_threshold=None,  # a pooler may be in between
    )
    async with await connecting as connection:
        await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
        await connection.set_read_only(True)
        yield connection


async def load_page(
    connection: Connection,
    filters: Filters,
    *,
    limit: int,
    cursor: str | None = None,
    patience: Patience = Patience(),  # noqa: B008  # frozen
    oldest_first: bool = False,
) -> DecisionPage:
    """One page; its time does not depend on its depth.

    A search without a usable index runs in slices of time; at the limit it stops, with the rows found.

    Raises:
        CursorRejected: the cursor was not made by an earlier page.
    """
    start = Position(direction=Direction.NEWER, at=EPOCH) if oldest_first else None
    position = start if cursor is None else parse_cursor(cursor)
    found = await search.find_decisions(connection, filters, position, limit=limit + 1, patience=patience)
    more, rows = len(found.rows) > limit, found.rows[:limit]
    direction = position.direction if position else Direction.OLDER
    back = Direction.OLDER if oldest_first else Direction.NEWER
    if direction is back and not more and found.searched_to is None:
        # the first page: load it again, with its newest decisions
        return await load_page(connection, filters, limit=limit, patience=patience, oldest_first=oldest_first)
    rows = rows if direction is Direction.OLDER else rows[::-1]
    page = _page(rows, position, more=more, searched_to=found.searched_to)
    return replace(page, rows=page.rows[::-1]) if oldest_first else page


async def count_decisions(connection: Connection, filters: Filters) -> DecisionCount:
    """The number of decisions: counted when the planner expects few, else its estimate."""
    query = matching_query(replace(await with_scan_hint(connection, filters), walk=False))
    estimate = await estimated_rows(connection, query)
    if estimate > ESTIMATED_FROM:
        return DecisionCount(number=estimate, exact=False)
    some = sa.select(sa.func.count()).select_from(query.limit(MOST_COUNTED + 1).subquery())
    try:
        async with statement_limit(connection, COUNT_S):
            number = int((await connection.execute(some)).scalar_one())
    except TooSlow:
        return DecisionCount(number=estimate, exact=False)
    if number <= MOST_COUNTED:
        return DecisionCount(number=number, exact=True)
    return DecisionCount(number=max(number, estimate), exact=False)


async def newer_decisions(
    connection: Connection, filters: Filters, *, seen: tuple[datetime, UUID], limit: int = 500
) -> tuple[SearchRow, ...]:
    """Decisions newer than ``seen``, oldest first, for a live tail."""
    found = matching_query(filters).subquery("found")
    query = (
        sa.select(found)
        .where(found.c.created_at >= seen[0], sa.tuple_(found.c.created_at, found.c.id) > seen)
        .order_by(found.c.created_at, found.c.id)
        .limit(limit)
    )
    return await all_rows(connection, query)


async def get_decision(connection: Connection, decision_id: UUID) -> SearchRow | None:
    """A decision with its snapshot and its reply, or None."""
    row = await decision_context.get_decision(connection, decision_id)
    return decision_context.program_columns(row) if row else None


async def next_decision(
    connection: Connection, filters: Filters, row: SearchRow, direction: Direction
) -> UUID | None:
    """The decision above or below this one in the list of the newest first."""
    position = Position(direction=direction, at=row["created_at"], decision_id=row["id"])
    found = await search.find_decisions(connection, filters, position, limit=1, patience=BRIEF)
    return next((each["id"] for each in found.rows), None)


async def high_scores(connection: Connection, rows: Sequence[SearchRow]) -> dict[UUID, list[str]]:
    """The high-scoring moderation categories of these decisions, by id; reads every snapshot."""
    if not rows:
        return {}
    times = [row["created_at"] for row in rows]
    query = sa.select(ai_decisions.c.id, HIGH_SCORE_CATEGORIES).where(
        ai_decisions.c.created_at.between(min(times), max(times)),
        sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id).in_(
            [(row["created_at"], row["id"]) for row in rows]
        ),
    )
    found = await connection.execute(query)
    return {row.id: row.high_score_categories for row in found}


def _page(
    rows: tuple[SearchRow, ...], position: Position | None, *, more: bool, searched_to: datetime | None
) -> DecisionPage:
    """The page of these rows, newest first, with cursors: ahead in the position's direction, and back."""
    direction = position.direction if position else Direction.OLDER
    is_older = direction is Direction.OLDER
    opposite = Direction.NEWER if is_older else Direction.OLDER
    ahead = back = None
    if more:
        ahead = _cursor_at(rows[-1 if is_older else 0], direction)
    elif searched_to is not None:
        ahead = str(search.position_after(searched_to, direction))
    if position is not None and (is_older or position.at > EPOCH):
        back = str(Position(direction=opposite, at=position.at))
        if rows:
            back = _cursor_at(rows[0 if is_older else -1], opposite)
    older, newer = (ahead, back) if is_older else (back, ahead)
    return DecisionPage(rows=rows, newer=newer, older=older, searched_to=searched_to)


def _cursor_at(row: SearchRow, direction: Direction) -> str:
    return str(Position(direction=direction, at=row["created_at"], decision_id=row["id"]))
