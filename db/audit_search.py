"""Finding the decisions of one page without ever hanging: all at once, else in slices of time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit_cursor import MICROSECOND, NO_ID, Position, Way
from db.audit_filters import Filters, conditions, moments, of_accounts, source
from db.tables import ai_decisions

LIST_COLUMNS: Final = tuple(column for column in ai_decisions.c if column.name != "snapshot_json")
Row: TypeAlias = dict[str, Any]

MERGED_ACCOUNTS: Final = 100
"""Up to here each account's newest are looked up by themselves and merged; beyond, the time is walked."""
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
    query = _query(filters, start if position else None, start.way, limit)
    try:
        return Found(rows=await _rows(connection, query, patience.at_once_s))
    except TooSlow:
        return await _in_slices(connection, filters, start, limit, patience)


@asynccontextmanager
async def within(connection: AsyncConnection, seconds: float) -> AsyncIterator[None]:
    """Give the statements inside this long each; what was done before stays.

    Raises:
        TooSlow: one took longer.
    """
    limits = {"ms": str(max(1, int(seconds * 1000)))}
    setting = "SELECT set_config('statement_timeout', :ms, true), set_config('plan_cache_mode', :plan, true)"
    try:
        async with connection.begin_nested() as savepoint:
            await connection.execute(sa.text(setting), limits | {"plan": "force_custom_plan"})
            yield
            await savepoint.rollback()  # the settings too; nothing here writes
    except sa.exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.errors.QueryCanceled):
            raise TooSlow from error
        raise


def _query(filters: Filters, position: Position | None, way: Way, limit: int) -> sa.Select[Any]:
    """One page in the order of the way."""
    beside = _beside(filters, position)
    accounts = filters.reaches()
    if accounts is None or len(accounts) in (0, 1) or len(accounts) > MERGED_ACCOUNTS:
        query = sa.select(*LIST_COLUMNS).select_from(source(filters))
        query = query.where(*of_accounts(filters), *conditions(filters), *beside)
        return query.order_by(*_order(way)).limit(limit)
    account = sa.func.unnest(sa.cast(list(accounts), ARRAY(sa.Text))).table_valued("user_id", name="account")
    newest = (
        sa.select(ai_decisions.c.created_at, ai_decisions.c.id)
        .select_from(source(filters))
        .where(ai_decisions.c.user_id == account.c.user_id, *conditions(filters), *beside)
        .order_by(*_order(way))
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
    return sa.select(*LIST_COLUMNS).select_from(keys.join(ai_decisions, same)).order_by(*_order(way))


def _beside(filters: Filters, position: Position | None) -> list[sa.ColumnElement[bool]]:
    if position is None:
        return []
    key = sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id)
    here = (position.at, position.decision_id)
    if position.way is Way.OLDER:  # the bounds are redundant, but let the planner skip partitions
        return [*(column <= position.at for column in moments(filters)), key < here]
    return [*(column >= position.at for column in moments(filters)), key > here]


def _order(way: Way) -> tuple[sa.ColumnElement[Any], ...]:
    return tuple(_in_order(column, way) for column in (ai_decisions.c.created_at, ai_decisions.c.id))


def _in_order(column: sa.ColumnElement[Any], way: Way) -> sa.ColumnElement[Any]:
    return column.desc() if way is Way.OLDER else column.asc()


async def _rows(connection: AsyncConnection, query: sa.Select[Any], seconds: float) -> tuple[Row, ...]:
    async with within(connection, seconds):
        return tuple(dict(row) for row in (await connection.execute(query)).mappings())


async def _in_slices(
    connection: AsyncConnection, filters: Filters, start: Position, limit: int, patience: Patience
) -> Found:
    """Search outwards from the position in slices of time until there is a page, an end or no patience."""
    oldest, newest = await _span(connection, filters)
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


async def _span(connection: AsyncConnection, filters: Filters) -> tuple[datetime, datetime]:
    """From when to when there is anything to search."""
    query = sa.select(sa.func.min(ai_decisions.c.created_at), sa.func.max(ai_decisions.c.created_at))
    oldest, newest = (await connection.execute(query)).one()
    if oldest is None:
        return datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    behind = newest + MICROSECOND
    return max(filters.since or oldest, oldest), min(filters.until or behind, behind)


def beyond(searched_to: datetime, way: Way) -> Position:
    """Where a search that was given up goes on."""
    if way is Way.OLDER:
        return Position(way=way, at=searched_to, decision_id=NO_ID)
    return Position(way=way, at=searched_to - MICROSECOND, decision_id=NO_ID)
