"""Reading the audit: pages of decisions, newest first, and one decision whole."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from db.migrate import driver_url
from db.tables import ai_decisions, outbox
from worker.errors import RejectedError

LIST_COLUMNS: Final = tuple(column for column in ai_decisions.c if column.name != "snapshot_json")
Row: TypeAlias = dict[str, Any]
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class CursorRejected(RejectedError):  # noqa: N818
    """A page cursor is not one of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which decisions are wanted; None means any.

    Attributes:
        since: from this moment on, UTC.
        until: before this moment, UTC.
        matched_rule: exact, or a prefix when it ends in ``*``.
    """

    since: datetime | None = None
    until: datetime | None = None
    user_id: str | None = None
    decision: str | None = None
    reason_code: str | None = None
    matched_rule: str | None = None
    scope: str | None = None
    conversation_id: str | None = None
    author_id: str | None = None
    event_id: str | None = None
    message_id: str | None = None
    degraded: bool | None = None
    least_confidence: float | None = None
    most_confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some decisions; ``cursor`` leads to the next page, None at the end."""

    rows: tuple[Row, ...]
    cursor: str | None


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[AsyncConnection]:
    """A read-only connection for people's questions."""
    engine = create_async_engine(driver_url(url), poolclass=sa.NullPool, connect_args={"connect_timeout": 10})
    try:
        async with engine.connect() as connection:
            await connection.execute(sa.text("SET default_transaction_read_only = on"))
            await connection.commit()
            yield connection
    finally:
        await engine.dispose()


async def page(
    connection: AsyncConnection, filters: Filters, *, limit: int, cursor: str | None = None
) -> Page:
    """One page, newest first, in the same time whatever its depth.

    Raises:
        CursorRejected: the cursor was not made by an earlier page.
    """
    query = sa.select(*LIST_COLUMNS).where(*_conditions(filters))
    if cursor is not None:
        at, decision_id = _position(cursor)
        query = query.where(
            ai_decisions.c.created_at <= at,  # redundant, but it lets the planner skip partitions
            sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id) < (at, decision_id),
        )
    query = query.order_by(ai_decisions.c.created_at.desc(), ai_decisions.c.id.desc()).limit(limit + 1)
    rows = tuple(dict(row) for row in (await connection.execute(query)).mappings())
    shown = rows[:limit]
    return Page(rows=shown, cursor=_cursor(shown[-1]) if len(rows) > limit else None)


async def after(
    connection: AsyncConnection, filters: Filters, *, seen: tuple[datetime, UUID], limit: int = 500
) -> tuple[Row, ...]:
    """Decisions newer than ``seen``, oldest first: what a live tail shows next."""
    query = (
        sa.select(*LIST_COLUMNS)
        .where(
            *_conditions(filters),
            ai_decisions.c.created_at >= seen[0],
            sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id) > seen,
        )
        .order_by(ai_decisions.c.created_at, ai_decisions.c.id)
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


def _conditions(filters: Filters) -> list[sa.ColumnElement[bool]]:
    columns = ai_decisions.c
    equal = ("user_id", "decision", "reason_code", "scope", "conversation_id", "author_id", "event_id")
    wanted = [
        columns[name] == value
        for name in (*equal, "message_id", "degraded")
        if (value := getattr(filters, name)) is not None
    ]
    bounds = (
        (columns.created_at.__ge__, filters.since),
        (columns.created_at.__lt__, filters.until),
        (columns.confidence.__ge__, filters.least_confidence),
        (columns.confidence.__le__, filters.most_confidence),
    )
    wanted += [compare(bound) for compare, bound in bounds if bound is not None]
    if (rule := filters.matched_rule) is not None:
        prefix = rule.removesuffix("*")
        wanted.append(
            columns.matched_rule.startswith(prefix, autoescape=True)
            if rule.endswith("*")
            else columns.matched_rule == rule
        )
    return wanted


def _cursor(row: Row) -> str:
    micros = (row["created_at"] - EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(micros.to_bytes(8) + row["id"].bytes).decode().rstrip("=")


def _position(cursor: str) -> tuple[datetime, UUID]:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return EPOCH + timedelta(microseconds=int.from_bytes(raw[:8])), UUID(bytes=raw[8:])
    except (ValueError, OverflowError, binascii.Error) as error:
        raise CursorRejected(f"cursor: expected one from an earlier page, got {cursor[:40]!r}") from error
