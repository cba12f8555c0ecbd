"""Finding the decisions of one page without ever hanging: all at once, else in slices of time."""

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
from sqlalchemy.ext.asyncio import AsyncConnection

from db import audit_marks
from db.audit_bounds import narrowed
from db.audit_cursor import MICROSECOND, NO_ID, Position, Way
from db.audit_filters import Filters, conditions, of_accounts, of_reviews, only_accounts, wants_reviewed
from db.review_tables import review_states
from db.tables import ai_decisions

LIST_COLUMNS: Final = tuple(column for column in ai_decisions.c if column.name != "snapshot_json")
Row: TypeAlias = dict[str, Any]

KEY: Final = (ai_decisions.c.created_at, ai_decisions.c.id)
MERGED_ACCOUNTS: Final = 100
"""Up to here each account's newest are looked up by themselves and merged; beyond, the time is walked."""
RARE_S: Final = 0.1
"""How long the rare are walked through, over 10,000 of them; the index of marks has what is rarer still."""
FIRST_SLICE: Final = timedelta(hours=1)
QUICK_S: Final = 0.2
"""A slice that took less is followed by a wider one."""
WIDER: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a search may take, in seconds: for the whole range at once, and for all its slices."""

    at_once_s: float = 1.0
    slices_s: float = 2.0


class TooSlow(Exception):  # noqa: N818  # not an error: the search goes on otherwise
    """A statement took longer than it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Some decisions in the order of the way.

    Attributes:
        searched_to: how far the search came when it was given up; None when it is complete.
    """

    rows: tuple[Row, ...]
    searched_to: datetime | None = None


async def found(
    connection: AsyncConnection,
    filters: Filters,
    position: Position | None,
    *,
    limit: int,
    patience: Patience,
) -> Found:
    """The next decisions from a position on; None is above the newest."""
    start = position or Position(way=Way.OLDER, at=datetime.max.replace(tzinfo=UTC))
    beside, way = start if position else None, start.way
    if audit_marks.rare(filters.stage_outcome):
        with suppress(TooSlow):
            query = _query(replace(filters, walk=True), beside, way, limit)
            return Found(rows=await _rows(connection, query, RARE_S))
    filters = await narrowed(connection, filters)
    try:
        return Found(rows=await _rows(connection, _query(filters, beside, way, limit), patience.at_once_s))
    except TooSlow:
        return await _in_slices(connection, filters, start, limit, patience)


@asynccontextmanager
async def within(connection: AsyncConnection, seconds: float) -> AsyncIterator[None]:
    """Give the statements inside this long each; what was done before stays.

    Raises:
        TooSlow: one took longer.
    """
    at_most_ms = max(1, int(seconds * 1000))
    await connection.exec_driver_sql(  # three statements in one round trip
        f"SAVEPOINT patience; SET LOCAL statement_timeout = {at_most_ms};"
        " SET LOCAL plan_cache_mode = force_custom_plan"
    )
    try:
        yield
    except sa.exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.errors.QueryCanceled):
            raise TooSlow from error
        raise
    finally:
        await _back(connection)


async def _back(connection: AsyncConnection) -> None:
    """To the savepoint, settings and all; repeated, as the time limit holds for this statement too."""
    for last in (False, False, True):
        try:
            await connection.exec_driver_sql("ROLLBACK TO SAVEPOINT patience; RELEASE SAVEPOINT patience")
        except sa.exc.DBAPIError as error:
            if last or not isinstance(error.orig, psycopg.errors.QueryCanceled):
                raise
        else:
            return


def matching(filters: Filters) -> sa.Select[Any]:
    """All decisions that match, in no order, with the columns of a list."""
    if wants_reviewed(filters):
        return _of_reviewed(filters, [])
    return sa.select(*LIST_COLUMNS).where(*of_accounts(filters), *conditions(filters))


def _query(filters: Filters, position: Position | None, way: Way, limit: int) -> sa.Select[Any]:
    """One page in the order of the way."""
    accounts = filters.reaches()
    if wants_reviewed(filters):
        at, decision_id = review_states.c.decision_at, review_states.c.decision_id
        query = _of_reviewed(filters, _beside(at, decision_id, filters, position))
        return query.order_by(_in_order(at, way), _in_order(decision_id, way)).limit(limit)
    if accounts is not None and 1 < len(accounts) <= MERGED_ACCOUNTS and only_accounts(filters):
        return _merged(accounts, filters, position, way, limit)
    beside = _beside(*KEY, filters, position)
    query = sa.select(*LIST_COLUMNS).where(*of_accounts(filters), *conditions(filters), *beside)
    return query.order_by(*(_in_order(column, way) for column in KEY)).limit(limit)


def _merged(
    accounts: tuple[str, ...], filters: Filters, position: Position | None, way: Way, limit: int
) -> sa.Select[Any]:
    """Each account's newest by its own index, then the newest of them."""
    names = sa.func.unnest(sa.cast(list(accounts), ARRAY(sa.Text)))
    account = names.table_valued("user_id", name="account").render_derived()
    newest = (
        sa.select(*KEY)
        .where(
            ai_decisions.c.user_id == account.c.user_id,
            *conditions(filters),
            *_beside(*KEY, filters, position),
        )
        .order_by(*(_in_order(column, way) for column in KEY))
        .limit(limit)
        .correlate(account)
        .lateral("newest")
    )
    keys = (
        sa.select(newest.c.created_at, newest.c.id)
        .select_from(account.join(newest, sa.true()))
        .order_by(*(_in_order(column, way) for column in newest.c))
        .limit(limit)
        .subquery("keys")
    )
    same = sa.and_(ai_decisions.c.created_at == keys.c.created_at, ai_decisions.c.id == keys.c.id)
    query = sa.select(*LIST_COLUMNS).select_from(keys.join(ai_decisions, same))
    return query.order_by(*(_in_order(column, way) for column in KEY))


def _of_reviewed(filters: Filters, beside: list[sa.ColumnElement[bool]]) -> sa.Select[Any]:
    """Reviewed decisions, led by their reviews: the planner, left to itself, walks the whole audit."""
    decision = (
        sa.select(*LIST_COLUMNS)
        .where(
            ai_decisions.c.created_at == review_states.c.decision_at,
            ai_decisions.c.id == review_states.c.decision_id,
            *conditions(filters),
        )
        .limit(1)
        .correlate(review_states)
        .lateral("decision")
    )
    query = sa.select(*decision.c).select_from(review_states.join(decision, sa.true()))
    return query.where(*of_reviews(filters), *beside)


def _beside(
    at: sa.ColumnElement[datetime],
    decision_id: sa.ColumnElement[UUID],
    filters: Filters,
    position: Position | None,
) -> list[sa.ColumnElement[bool]]:
    if position is None:
        return []
    key, here = sa.tuple_(at, decision_id), (position.at, position.decision_id)
    if position.way is Way.OLDER:  # the first bound is redundant, but lets the planner skip partitions
        passed = filters.until is not None and position.at >= filters.until
        return [] if passed else [at <= position.at, key < here]
    passed = filters.since is not None and position.at < filters.since
    return [] if passed else [at >= position.at, key > here]


def _in_order(column: sa.ColumnElement[Any], way: Way) -> sa.ColumnElement[Any]:
    return column.desc() if way is Way.OLDER else column.asc()


async def _rows(connection: AsyncConnection, query: sa.Select[Any], seconds: float) -> tuple[Row, ...]:
    async with within(connection, seconds):
        return tuple(dict(row) for row in (await connection.execute(query)).mappings())


async def _in_slices(
    connection: AsyncConnection, filters: Filters, start: Position, limit: int, patience: Patience
) -> Found:
    """Search outwards from the position in slices of time until there is a page, an end or no patience."""
    span = await _span(connection, filters)
    if span is None:
        return Found(rows=())
    oldest, newest = span
    older = start.way is Way.OLDER
    edge = min(start.at, newest - MICROSECOND) + MICROSECOND if older else max(start.at, oldest)
    last, width = oldest if older else newest, FIRST_SLICE
    position: Position | None = start
    rows: list[Row] = []
    deadline = time.monotonic() + patience.slices_s
    while (last < edge) if older else (edge < last):
        if (left := deadline - time.monotonic()) <= 0:
            return Found(rows=tuple(rows), searched_to=edge)
        to = max(edge - width, last) if older else min(edge + width, last)
        since, until = sorted((edge, to))
        query = _query(replace(filters, since=since, until=until), position, start.way, limit - len(rows))
        began = time.monotonic()
        try:
            rows += await _rows(connection, query, left)
        except TooSlow:
            width /= WIDER
            continue
        if len(rows) >= limit:
            break
        edge, position = to, None
        if time.monotonic() - began < QUICK_S:
            width *= WIDER
    return Found(rows=tuple(rows))


async def _span(connection: AsyncConnection, filters: Filters) -> tuple[datetime, datetime] | None:
    """From when to when there is anything to search; None while the audit is empty."""
    query = sa.select(sa.func.min(ai_decisions.c.created_at), sa.func.max(ai_decisions.c.created_at))
    oldest, newest = (await connection.execute(query)).one()
    if oldest is None:
        return None
    behind = newest + MICROSECOND
    return max(filters.since or oldest, oldest), min(filters.until or behind, behind)


def beyond(searched_to: datetime, way: Way) -> Position:
    """Where a search that was given up goes on."""
    if way is Way.OLDER:
        return Position(way=way, at=searched_to, decision_id=NO_ID)
    return Position(way=way, at=searched_to - MICROSECOND, decision_id=NO_ID)
