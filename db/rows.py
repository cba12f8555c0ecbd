"""Rows of a statement on a connection: by column name, or as values of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import sqlalchemy as sa
from psycopg.rows import class_row, dict_row

from db.connection import Connection

Row: TypeAlias = dict[str, Any]
AnyQuery: TypeAlias = sa.Executable | str
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Only plain SQL takes a sequence."""
Shape = TypeVar("Shape")


async def all_rows(
    connection: Connection, statement: AnyQuery, values: Values | None = None
) -> tuple[Row, ...]:
    """All rows."""
    if isinstance(statement, str):
        cursor = await connection.cursor(row_factory=dict_row).execute(statement, values)
        return tuple(await cursor.fetchall())
    return tuple((await connection.execute(statement, dict(values or ()))).dicts())


async def first_row(connection: Connection, statement: AnyQuery, values: Values | None = None) -> Row | None:
    """The first row, or None."""
    return next(iter(await all_rows(connection, statement, values)), None)


async def rows_as(
    connection: Connection, shape: type[Shape], statement: AnyQuery, values: Values | None = None
) -> tuple[Shape, ...]:
    """All rows, each as a ``shape`` whose fields are the columns."""
    if isinstance(statement, str):
        cursor = await connection.cursor(row_factory=class_row(shape)).execute(statement, values)
        return tuple(await cursor.fetchall())
    return tuple(shape(**row) for row in await all_rows(connection, statement, values))


async def row_as(
    connection: Connection, shape: type[Shape], statement: AnyQuery, values: Values | None = None
) -> Shape | None:
    """The first row as a ``shape``, or None."""
    return next(iter(await rows_as(connection, shape, statement, values)), None)


async def first_value(connection: Connection, statement: str, values: Values | None = None) -> Any:
    """The first column of the first row; None without a row."""
    row = await (await connection.execute(statement, values)).fetchone()
    return row[0] if row else None


async def changed_rows(
    connection: Connection, statement: sa.Executable, values: Mapping[str, Any] | None = None
) -> int:
    """How many rows a statement changed."""
    return (await connection.execute(statement, values)).rowcount
