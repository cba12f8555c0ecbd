"""Reads the audit: pages of decisions, newest first, their number, and one decision with its snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from db.audit import search
from db.audit.cursor import (
    EPOCH,
    OLDEST,
    CursorRejected,
    Direction,
    Position,
    parse_cursor,
)
from db.audit.estimates import estimated_rows, with_scan_hint
from db.audit.filters import ASSESSED, Filters, ReviewFilter
from db.audit.search import (
    LIST_COLUMNS,
    Patience,
    SearchRow,
    TooSlow,
    matching_query,
    statement_limit,
)
from db.audit.snapshot_filters import ANY_STAGE
from db.figures.statements import RunEvent
from db.high_score_categories import HOT_CATEGORIES
from db.migrate import driver_url
from db.review_tables import review_states
from db.tables import ai_decisions, outbox

__all__ = [
    "ANY_STAGE",
    "LIST_COLUMNS",
    "OLDEST",
    "CursorRejected",
    "DecisionCount",
    "DecisionPage",
    "Filters",
    "Patience",
    "ReviewFilter",
    "RunEvent",
    "SearchRow",
    "count_decisions",
    "get_decision",
    "high_scores",
    "load_page",
    "load_review_states",
    "newer_decisions",
    "read_connection",
]

MOST_COUNTED: Final = 1000
ESTIMATED_FROM: Final = 20_000
COUNT_S: Final = 0.02
"""A count that takes longer is replaced by an estimate, so that it does not delay the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """Some decisions, newest first.

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
async def read_connection(url: str) -> AsyncIterator[AsyncConnection]:
    """A read-only connection."""
    engine = create_async_engine(
        driver_url(url),
        poolclass=sa.NullPool,
        hide_parameters=True,  # keeps search texts out of error messages
        connect_args={"connect_timeout": 10},
    )
    try:
        async with engine.connect() as connection:
            await connection.execute(sa.text("SET default_transaction_read_only = on"))
            await connection.commit()
            yield connection
    finally:
        await engine.dispose()


async def load_page(
    connection: AsyncConnection,
    filters: Filters,
    *,
    limit: int,
    cursor: str | None = None,
    patience: Patience = Patience(),  # noqa: B008  # frozen
) -> DecisionPage:
    """One page; its time does not depend on its depth.

    A search without a usable index runs in slices of time; at the limit it stops, with the rows found.

    Raises:
        CursorRejected: the cursor was not made by an earlier page.
    """
    position = parse_cursor(cursor) if cursor is not None else None
    found = await search.find_decisions(connection, filters, position, limit=limit + 1, patience=patience)
    more, rows = len(found.rows) > limit, found.rows[:limit]
    if position is None or position.way is Direction.OLDER:
        return _older(rows, position, more=more, searched_to=found.searched_to)
    if (
        not more and found.searched_to is None
    ):  # the top: load it again, with the decisions that came meanwhile
        return await load_page(connection, filters, limit=limit, patience=patience)
    return _newer(rows[::-1], position, more=more, searched_to=found.searched_to)


async def count_decisions(connection: AsyncConnection, filters: Filters) -> DecisionCount:
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
    connection: AsyncConnection, filters: Filters, *, seen: tuple[datetime, UUID], limit: int = 500
) -> tuple[SearchRow, ...]:
    """Decisions newer than ``seen``, oldest first, for a live tail."""
    found = matching_query(filters).subquery("found")
    query = (
        sa.select(found)
        .where(found.c.created_at >= seen[0], sa.tuple_(found.c.created_at, found.c.id) > seen)
        .order_by(found.c.created_at, found.c.id)
        .limit(limit)
    )
    return tuple(dict(row) for row in (await connection.execute(query)).mappings())


async def get_decision(connection: AsyncConnection, decision_id: UUID) -> SearchRow | None:
    """A decision with its snapshot and its reply, or None; found by the time inside its id."""
    near = timedelta(milliseconds=2)
    try:
        at = EPOCH + timedelta(milliseconds=decision_id.int >> 80)
        bounds = (at - near, at + near)
    except OverflowError:
        return None  # its time lies beyond the year 9999: not one of our ids
    query = (
        sa.select(
            ai_decisions,
            ASSESSED.label("assessed"),
            outbox.c.text.label("reply_text"),
            outbox.c.draft.label("reply_draft"),
            outbox.c.sources.label("reply_sources"),
            outbox.c.delivered_at.label("reply_delivered_at"),
        )
        .join_from(
            ai_decisions,
            outbox,
            sa.and_(outbox.c.user_id == ai_decisions.c.user_id, outbox.c.event_id == ai_decisions.c.event_id),
            isouter=True,
        )
        .where(
            ai_decisions.c.created_at.between(*bounds),
            ai_decisions.c.id == decision_id,
        )
    )
    row = (await connection.execute(query)).mappings().first()
    return dict(row) if row else None


async def load_review_states(
    connection: AsyncConnection, rows: Sequence[SearchRow], *, hidden: Collection[UUID] = ()
) -> dict[UUID, str]:
    """The review state of the reviewed ones among these decisions, by id.

    Decisions in ``hidden`` are left out, see ``db.reviews.queue_items.hidden_decisions``.
    """
    query = sa.select(review_states.c.decision_id, review_states.c.state).where(
        review_states.c.decision_id.in_([row["id"] for row in rows])
    )
    found = await connection.execute(query)
    return {row.decision_id: row.state for row in found if row.decision_id not in hidden}


async def high_scores(connection: AsyncConnection, rows: Sequence[SearchRow]) -> dict[UUID, list[str]]:
    """The high-scoring moderation categories of these decisions, by id; reads every snapshot."""
    if not rows:
        return {}
    query = sa.select(ai_decisions.c.id, HOT_CATEGORIES).where(
        ai_decisions.c.created_at.between(rows[-1]["created_at"], rows[0]["created_at"]),
        sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id).in_(
            [(row["created_at"], row["id"]) for row in rows]
        ),
    )
    found = await connection.execute(query)
    return {row.id: row.hot_categories for row in found}


def _older(
    rows: tuple[SearchRow, ...], position: Position | None, *, more: bool, searched_to: datetime | None
) -> DecisionPage:
    older = newer = None
    if more:
        older = _beside(rows[-1], Direction.OLDER)
    elif searched_to is not None:
        older = str(search.position_after(searched_to, Direction.OLDER))
    if position is not None:
        newer = (
            _beside(rows[0], Direction.NEWER) if rows else str(Position(way=Direction.NEWER, at=position.at))
        )
    return DecisionPage(rows=rows, newer=newer, older=older, searched_to=searched_to)


def _newer(
    rows: tuple[SearchRow, ...], position: Position, *, more: bool, searched_to: datetime | None
) -> DecisionPage:
    older = newer = None
    if more:
        newer = _beside(rows[0], Direction.NEWER)
    elif searched_to is not None:
        newer = str(search.position_after(searched_to, Direction.NEWER))
    if position.at > EPOCH:
        older = (
            _beside(rows[-1], Direction.OLDER) if rows else str(Position(way=Direction.OLDER, at=position.at))
        )
    return DecisionPage(rows=rows, newer=newer, older=older, searched_to=searched_to)


def _beside(row: SearchRow, way: Direction) -> str:
    return str(Position(way=way, at=row["created_at"], decision_id=row["id"]))
