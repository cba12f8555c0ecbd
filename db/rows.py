"""Rows of a statement on an SQLAlchemy connection, by column name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

Row: TypeAlias = dict[str, Any]


async def all_rows(
    connection: AsyncConnection, statement: sa.Executable, values: Mapping[str, Any] | None = None
) -> tuple[Row, ...]:
    """All rows."""
    return tuple(dict(row) for row in (await connection.execute(statement, values)).mappings())


async def first_row(
    connection: AsyncConnection, statement: sa.Executable, values: Mapping[str, Any] | None = None
) -> Row | None:
    """The first row, or None."""
    row = (await connection.execute(statement, values)).mappings().first()
    return None if row is None else dict(row)


async def changed_rows(
    connection: AsyncConnection, statement: sa.Executable, values: Mapping[str, Any] | None = None
) -> int:
    """How many rows a statement changed."""
    return int((await connection.execute(statement, values)).rowcount)
