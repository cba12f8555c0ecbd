"""Finds the decisions of one page in bounded time: in one query, else in slices of time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from db.audit import snapshot_filters
from db.audit.cursor import MICROSECOND, NO_ID, Direction, Position
from db.audit.estimates import with_scan_hint
from db.audit.filters import (
    ASSESSED,
    Filters,
    account_conditions,
    filter_conditions,
    filters_accounts_only,
    marked_keys,
    requires_review,
    review_conditions,
)
from db.connection import Connection
from db.review_tables import review_states
from db.rows import all_rows
from db.tables import ai_decisions

LIST_COLUMNS: Final = (
    *(column for column in ai_decisions.c if column.name != "snapshot_json"),
    ASSESSED.label("assessed"),
)
SearchRow: TypeAlias = dict[str, Any]

KEY: Final = (ai_decisions.c.created_at, ai_decisions.c.id)
MERGED_ACCOUNTS: Final = 100
"""Up to this number, the newest of each account are looked up and merged; above it, time is scanned."""
RARE_S: Final = 0.1
"""Time limit of the scan of ``RARE``, about 10,000 of them; rarer labels are in the index of labels."""
FIRST_SLICE: Final = timedelta(hours=1)
SHORTEST_MS: Final = 10
"""The shortest time limit of a statement: after a shorter one, a busy Postgres cancels the rollback too."""
ROLLBACKS: Final = 10
QUICK_S: Final = 0.2
"""After a slice that took less, the next is wider."""
WIDER: Final = 4
NARROWER: Final = 16
"""After a slice that was too slow: an hour that takes up to 16 s goes on in parts that take one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Time limits of a search, in seconds.

    Attributes:
        at_once_s: for the whole range in one query; with 0, the search begins with slices.
        slices_s: for all slices.
    """

    at_once_s: float = 1.0
    slices_s: float = 2.0


class TooSlow(Exception):
    """A statement exceeded its time limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Some decisions in the order of the direction.

    Attributes:
        searched_to: where the search stopped at its time limit; None when it is complete.
    """

    rows: tuple[SearchRow, ...]
    searched_to: datetime | None = None


async def find_decisions(
    connection: Connection,
    filters: Filters,
    position: Position | None,
    *,
    limit: int,
    patience: Patience,
) -> SearchResult:
    """The next decisions from a position; None is above the newest."""
    start = position or Position(direction=Direction.OLDER, at=datetime.max.replace(tzinfo=UTC))
    direction = start.direction
    if snapshot_filters.is_rare(filters.stage_outcome):
        with suppress(TooSlow):
            query = _query(replace(filters, walk=True), position, direction, limit)
            return SearchResult(rows=await _rows(connection, query, RARE_S))
    filters = await with_scan_hint(connection, filters)
    if patience.at_once_s > 0:
        with suppress(TooSlow):
            query = _query(filters, position, direction, limit)
            return SearchResult(rows=await _rows(connection, query, patience.at_once_s))
    return await _in_slices(connection, filters, start, limit, patience)


@asynccontextmanager
async def statement_limit(connection: Connection, seconds: float) -> AsyncIterator[None]:
    """Limit the time of each statement inside; changes made before stay.

    Raises:
        TooSlow: one took longer.
    """
    at_most_ms = max(SHORTEST_MS, int(seconds * 1000))
    await connection.execute(  # one round trip; the limit last, as it applies from then on
        "SAVEPOINT patience; SET LOCAL plan_cache_mode = force_custom_plan;"
        f" SET LOCAL statement_timeout = {at_most_ms}"
    )
    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        raise TooSlow from error
    finally:
        await _roll_back(connection)


async def _roll_back(connection: Connection) -> None:
    """Roll back to the savepoint and its settings; repeated, as the time limit applies here too."""
    for attempt in range(ROLLBACKS):
        try:
            await connection.execute("ROLLBACK TO SAVEPOINT patience; RELEASE SAVEPOINT patience")
        except psycopg.errors.QueryCanceled:
            if attempt == ROLLBACKS - 1:
                raise
        else:
            return


def matching_query(filters: Filters) -> sa.Select[Any]:
    """All decisions that match, unordered, with the columns of a list."""
    if requires_review(filters):
        return _of_keys(review_states, filters).where(*review_conditions(filters))
    return sa.select(*LIST_COLUMNS).where(*account_conditions(filters), *filter_conditions(filters))


def _query(filters: Filters, position: Position | None, direction: Direction, limit: int) -> sa.Select[Any]:
    """One page in the order of the direction."""
    accounts = filters.reaches()
    if requires_review(filters):
        query = _page_of_keys(review_states, filters, position, direction)
        return query.where(*review_conditions(filters)).limit(limit)
    if (marked := marked_keys(filters)) is not None:  # ordered already, or the planner sorts all of them
        keys = marked.order_by(*(_in_order(column, direction) for column in marked.selected_columns))
        return _page_of_keys(keys.subquery("marked"), filters, position, direction).limit(limit)
    if accounts is not None and 1 < len(accounts) <= MERGED_ACCOUNTS and filters_accounts_only(filters):
        return _merged(accounts, filters, position, direction, limit)
    query = matching_query(filters).where(*_position_conditions(*KEY, filters, position))
    return query.order_by(*(_in_order(column, direction) for column in KEY)).limit(limit)


def _merged(
    accounts: tuple[str, ...], filters: Filters, position: Position | None, direction: Direction, limit: int
) -> sa.Select[Any]:
    """The newest of each account by its index, then the newest of these."""
    names = sa.func.unnest(sa.cast(list(accounts), ARRAY(sa.Text)))
    account = names.table_valued("user_id", name="account").render_derived()
    newest = (
        sa.select(*KEY)
        .where(
            ai_decisions.c.user_id == account.c.user_id,
            *filter_conditions(filters),
            *_position_conditions(*KEY, filters, position),
        )
        .order_by(*(_in_order(column, direction) for column in KEY))
        .limit(limit)
        .correlate(account)
        .lateral("newest")
    )
    keys = (
        sa.select(newest.c.created_at, newest.c.id)
        .select_from(account.join(newest, sa.true()))
        .order_by(*(_in_order(column, direction) for column in newest.c))
        .limit(limit)
        .subquery("keys")
    )
    same = sa.and_(ai_decisions.c.created_at == keys.c.created_at, ai_decisions.c.id == keys.c.id)
    query = sa.select(*LIST_COLUMNS).select_from(keys.join(ai_decisions, same))
    return query.order_by(*(_in_order(column, direction) for column in KEY))


def _page_of_keys(
    keys: sa.FromClause, filters: Filters, position: Position | None, direction: Direction
) -> sa.Select[Any]:
    at, decision_id = keys.c.decision_at, keys.c.decision_id
    query = _of_keys(keys, filters).where(*_position_conditions(at, decision_id, filters, position))
    return query.order_by(_in_order(at, direction), _in_order(decision_id, direction))


def _of_keys(keys: sa.FromClause, filters: Filters) -> sa.Select[Any]:
    """Decisions joined from a table with their keys: else the planner scans the whole audit."""
    decision = (
        sa.select(*LIST_COLUMNS)
        .where(
            ai_decisions.c.created_at == keys.c.decision_at,
            ai_decisions.c.id == keys.c.decision_id,
            *filter_conditions(filters),
        )
        .limit(1)
        .correlate(keys)
        .lateral("decision")
    )
    return sa.select(*decision.c).select_from(keys.join(decision, sa.true()))


def _position_conditions(
    at: sa.ColumnElement[datetime],
    decision_id: sa.ColumnElement[UUID],
    filters: Filters,
    position: Position | None,
) -> list[sa.ColumnElement[bool]]:
    if position is None:
        return []
    key, here = sa.tuple_(at, decision_id), (position.at, position.decision_id)
    # the first bound is redundant, but lets the planner skip partitions
    if position.direction is Direction.OLDER:
        passed = filters.until is not None and position.at >= filters.until
        return [] if passed else [at <= position.at, key < here]
    passed = filters.since is not None and position.at < filters.since
    return [] if passed else [at >= position.at, key > here]


def _in_order(column: sa.ColumnElement[Any], direction: Direction) -> sa.ColumnElement[Any]:
    return column.desc() if direction is Direction.OLDER else column.asc()


async def _rows(connection: Connection, query: sa.Select[Any], seconds: float) -> tuple[SearchRow, ...]:
    async with statement_limit(connection, seconds):
        return await all_rows(connection, query)


async def _in_slices(
    connection: Connection, filters: Filters, start: Position, limit: int, patience: Patience
) -> SearchResult:
    """Search from the position in slices of time, until the page is full, the range ends or time is up."""
    span = await _span(connection, filters)
    if span is None:
        return SearchResult(rows=())
    oldest, newest = span
    older = start.direction is Direction.OLDER
    edge = min(start.at, newest - MICROSECOND) + MICROSECOND if older else max(start.at, oldest)
    last, width = oldest if older else newest, FIRST_SLICE
    position: Position | None = start
    rows: list[SearchRow] = []
    deadline = time.monotonic() + patience.slices_s
    while (last < edge) if older else (edge < last):
        if (left := deadline - time.monotonic()) <= 0:
            return SearchResult(rows=tuple(rows), searched_to=edge)
        to = max(edge - width, last) if older else min(edge + width, last)
        since, until = sorted((edge, to))
        query = _query(
            replace(filters, since=since, until=until), position, start.direction, limit - len(rows)
        )
        began = time.monotonic()
        try:
            # a wide one gets half of the time left: when it is not enough, the rest is for a narrow one
            rows += await _rows(connection, query, left / 2 if width >= FIRST_SLICE else left)
        except TooSlow:
            width /= NARROWER
            continue
        if len(rows) >= limit:
            break
        edge, position = to, None
        if time.monotonic() - began < QUICK_S:
            width *= WIDER
    return SearchResult(rows=tuple(rows))


async def _span(connection: Connection, filters: Filters) -> tuple[datetime, datetime] | None:
    """The range of time to search; None while the audit is empty."""
    query = sa.select(sa.func.min(ai_decisions.c.created_at), sa.func.max(ai_decisions.c.created_at))
    oldest, newest = (await connection.execute(query)).one()
    if oldest is None:
        return None
    behind = newest + MICROSECOND
    return max(filters.since or oldest, oldest), min(filters.until or behind, behind)


def position_after(searched_to: datetime, direction: Direction) -> Position:
    """The position where a stopped search continues."""
    if direction is Direction.OLDER:
        return Position(direction=direction, at=searched_to, decision_id=NO_ID)
    return Position(direction=direction, at=searched_to - MICROSECOND, decision_id=NO_ID)
