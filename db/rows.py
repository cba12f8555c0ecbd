"""Rows of a statement on a connection: by column name, or as values of a class."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import sqlalchemy as sa
from psycopg.rows import class_row, dict_row

from db.connection import Connection

Row: TypeAlias = dict[str, Any]
Statement: TypeAlias = sa.Executable | str
Values: TypeAlias = Any
"""A mapping, or of plain SQL also a sequence; None: no values."""
Shape = TypeVar("Shape")


async def all_rows(connection: Connection, statement: Statement, values: Values = None) -> tuple[Row, ...]:
    """All rows."""
    if isinstance(statement, str):
        cursor = await connection.cursor(row_factory=dict_row).execute(statement, values)
        return tuple(await cursor.fetchall())
    return tuple((await connection.execute(statement, values)).dicts())


async def first_row(connection: Connection, statement: Statement, values: Values = None) -> Row | None:
    """The first row, or None."""
    return next(iter(await all_rows(connection, statement, values)), None)


async def rows_as(
    connection: Connection, shape: type[Shape], statement: Statement, values: Values = None
) -> tuple[Shape, ...]:
    """All rows, each as a ``shape`` whose fields are the columns."""
    if isinstance(statement, str):
        cursor = await connection.cursor(row_factory=class_row(shape)).execute(statement, values)
        return tuple(await cursor.fetchall())
    return tuple(shape(**row) for row in await all_rows(connection, statement, values))


async def row_as(
    connection: Connection, shape: type[Shape], statement: Statement, values: Values = None
) -> Shape | None:
    """The first row as a ``shape``, or None."""
    return next(iter(await rows_as(connection, shape, statement, values)), None)


async def first_value(connection: Connection, statement: str, values: Values = None) -> Any:
    """The first column of the first row; None without a row."""
    row = await (await connection.execute(statement, values)).fetchone()
    return row[0] if row else None


async def changed_rows(connection: Connection, statement: sa.Executable, values: Values = None) -> int:
    """How many rows a statement changed."""
    return (await connection.execute(statement, values)).rowcount
