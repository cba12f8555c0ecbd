"""Rows of a statement by column name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import sqlalchemy as sa
from psycopg.rows import dict_row

from db.connection import Connection

Row: TypeAlias = dict[str, Any]


async def all_rows(
    connection: Connection, statement: sa.Executable | str, values: Mapping[str, Any] | None = None
) -> tuple[Row, ...]:
    """All rows."""
    if isinstance(statement, str):
        cursor = await connection.cursor(row_factory=dict_row).execute(statement, values)
        return tuple(await cursor.fetchall())
    return tuple((await connection.execute(statement, values)).dicts())


async def first_row(
    connection: Connection, statement: sa.Executable | str, values: Mapping[str, Any] | None = None
) -> Row | None:
    """The first row, or None."""
    return next(iter(await all_rows(connection, statement, values)), None)


async def changed_rows(
    connection: Connection, statement: sa.Executable, values: Mapping[str, Any] | None = None
) -> int:
    """How many rows a statement changed."""
    return (await connection.execute(statement, values)).rowcount
