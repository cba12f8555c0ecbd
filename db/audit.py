"""Reading the audit: pages of decisions, newest first, how many there are, and one decision whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from db import audit_search, items
from db.audit_bounds import estimated, narrowed
from db.audit_cursor import EPOCH, OLDEST, CursorRejected, Position, Way, parsed
from db.audit_filters import Filters, ReviewFilter
from db.audit_marks import ANY_STAGE, STAGES, Tier
from db.audit_search import LIST_COLUMNS, Patience, Row, TooSlow, matching, within
from db.figure_sql import Ran
from db.hot_categories import HOT_CATEGORIES
from db.migrate import driver_url
from db.review_tables import review_states
from db.tables import ai_decisions, outbox

__all__ = [
    "ANY_STAGE",
    "LIST_COLUMNS",
    "OLDEST",
    "STAGES",
    "Count",
    "CursorRejected",
    "Filters",
    "Page",
    "Patience",
    "Ran",
    "ReviewFilter",
    "Row",
    "Tier",
    "after",
    "counted",
    "hot",
    "one",
    "page",
    "reading",
    "standings",
    "unspoilt",
]

MOST_COUNTED: Final = 1000
ESTIMATED_FROM: Final = 20_000
COUNT_S: Final = 0.02
"""A count that takes longer is estimated: a page is worth waiting for, its count is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some decisions, newest first.

    Attributes:
        newer: cursor of the page above; None at the top.
        older: cursor of the page below; None at the end.
        searched_to: how far the search came when it was given up; ``older`` or ``newer`` goes on from there.
    """

    rows: tuple[Row, ...]
    newer: str | None = None
    older: str | None = None
    searched_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many decisions there are; ``exact`` is False when the planner estimated."""

    number: int
    exact: bool


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[AsyncConnection]:
    """A read-only connection for people's questions."""
    engine = create_async_engine(
        driver_url(url),
        poolclass=sa.NullPool,
        hide_parameters=True,  # what people search for stays out of error messages
        connect_args={"connect_timeout": 10},
    )
    try:
        async with engine.connect() as connection:
            await connection.execute(sa.text("SET default_transaction_read_only = on"))
            await connection.commit()
            yield connection
    finally:
        await engine.dispose()


async def page(
    connection: AsyncConnection,
    filters: Filters,
    *,
    limit: int,
    cursor: str | None = None,
    patience: Patience = Patience(),  # noqa: B008  # frozen
) -> Page:
    """One page, in the same time whatever its depth.

    A search that nothing helps is done in slices of time and given up when patience ends, with what it found.

    Raises:
        CursorRejected: the cursor was not made by an earlier page.
    """
    position = parsed(cursor) if cursor is not None else None
    found = await audit_search.found(connection, filters, position, limit=limit + 1, patience=patience)
    more, rows = len(found.rows) > limit, found.rows[:limit]
    if position is None or position.way is Way.OLDER:
        return _older(rows, position, more=more, searched_to=found.searched_to)
    if not more and found.searched_to is None:  # the top: filled up with what came meanwhile
        return await page(connection, filters, limit=limit, patience=patience)
    return _newer(rows[::-1], position, more=more, searched_to=found.searched_to)


async def counted(connection: AsyncConnection, filters: Filters) -> Count:
    """How many decisions there are: counted when they seem to be few, else as the planner estimates."""
    query = matching(replace(await narrowed(connection, filters), walk=False))
    estimate = await estimated(connection, query)
    if estimate > ESTIMATED_FROM:
        return Count(number=estimate, exact=False)
    some = sa.select(sa.func.count()).select_from(query.limit(MOST_COUNTED + 1).subquery())
    try:
        async with within(connection, COUNT_S):
            number = int((await connection.execute(some)).scalar_one())
    except TooSlow:
        return Count(number=estimate, exact=False)
    if number <= MOST_COUNTED:
        return Count(number=number, exact=True)
    return Count(number=max(number, estimate), exact=False)


async def after(
    connection: AsyncConnection, filters: Filters, *, seen: tuple[datetime, UUID], limit: int = 500
) -> tuple[Row, ...]:
    """Decisions newer than ``seen``, oldest first: what a live tail shows next."""
    found = matching(filters).subquery("found")
    query = (
        sa.select(found)
        .where(found.c.created_at >= seen[0], sa.tuple_(found.c.created_at, found.c.id) > seen)
        .order_by(found.c.created_at, found.c.id)
        .limit(limit)
    )
    return tuple(dict(row) for row in (await connection.execute(query)).mappings())


async def one(connection: AsyncConnection, decision_id: UUID) -> Row | None:
    """A decision with its snapshot and its reply, or None; found by the time inside its id."""
    near = timedelta(milliseconds=2)
    try:
        at = EPOCH + timedelta(milliseconds=decision_id.int >> 80)
        bounds = (at - near, at + near)
    except OverflowError:
        return None  # no UUIDv7 of ours: its time lies beyond the year 9999
    query = (
        sa.select(
            ai_decisions, outbox.c.text.label("reply_text"), outbox.c.delivered_at.label("reply_delivered_at")
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


async def standings(
    connection: AsyncConnection, rows: Sequence[Row], *, hidden: Collection[UUID] = ()
) -> dict[UUID, str]:
    """Where those of these decisions stand that have been reviewed, by id.

    ``hidden`` are left out: what the reader must not know yet, see ``db.items.hidden``.
    """
    query = sa.select(review_states.c.decision_id, review_states.c.state).where(
        review_states.c.decision_id.in_([row["id"] for row in rows])
    )
    found = await connection.execute(query)
    return {row.decision_id: row.state for row in found if row.decision_id not in hidden}


async def unspoilt(connection: AsyncConnection, filters: Filters, person_id: UUID) -> Filters:
    """The filters as somebody may use them: what they hold in a queue counts as not reviewed.

    Left out, a decision would be missing under every review state, which tells as much.
    """
    if filters.review is None:
        return filters
    return replace(filters, hidden=tuple(sorted(await items.hidden(connection, person_id))))


async def hot(connection: AsyncConnection, rows: Sequence[Row]) -> dict[UUID, list[str]]:
    """The moderation categories these decisions scored high in, by id; reads every snapshot."""
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
    rows: tuple[Row, ...], position: Position | None, *, more: bool, searched_to: datetime | None
) -> Page:
    older = newer = None
    if more:
        older = _beside(rows[-1], Way.OLDER)
    elif searched_to is not None:
        older = str(audit_search.beyond(searched_to, Way.OLDER))
    if position is not None:
        newer = _beside(rows[0], Way.NEWER) if rows else str(Position(way=Way.NEWER, at=position.at))
    return Page(rows=rows, newer=newer, older=older, searched_to=searched_to)


def _newer(rows: tuple[Row, ...], position: Position, *, more: bool, searched_to: datetime | None) -> Page:
    older = newer = None
    if more:
        newer = _beside(rows[0], Way.NEWER)
    elif searched_to is not None:
        newer = str(audit_search.beyond(searched_to, Way.NEWER))
    if position.at > EPOCH:
        older = _beside(rows[-1], Way.OLDER) if rows else str(Position(way=Way.OLDER, at=position.at))
    return Page(rows=rows, newer=newer, older=older, searched_to=searched_to)


def _beside(row: Row, way: Way) -> str:
    return str(Position(way=way, at=row["created_at"], decision_id=row["id"]))
