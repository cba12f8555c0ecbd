"""Rows of a statement on a connection: by column name, or as values of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from psycopg.rows import dict_row

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
    """All rows, each as a ``shape``."""
    return tuple(from_row(shape, row) for row in await all_rows(connection, statement, values))


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


def account_parameters(accounts: Sequence[str] | None) -> dict[str, object]:
    """Parameters of ``(:every OR user_id = ANY(:accounts))``."""
    return {"every": accounts is None, "accounts": list(accounts or ())}


def is_known(column: sa.ColumnElement[str], kind: type[StrEnum]) -> sa.ColumnElement[bool]:
    """Whether this release knows a stored word; before a rollback a newer one may have stored others."""
    return column.in_([each.value for each in kind])


def from_row(shape: type[Shape], row: Mapping[str, Any]) -> Shape:
    """A row as a dataclass: words as their enum, arrays as tuples; columns without a field are left out."""
    read = {
        name: kind(row[name]) if kind is not None and row[name] is not None else row[name]
        for name, kind in _kinds(cast("Any", shape)).items()
        if name in row
    }
    return shape(**read)


@cache
def _kinds(shape: type[Any]) -> Mapping[str, type[Any] | None]:
    """Field -> the type that reads its column; None: the column as it is."""
    hints = get_type_hints(shape)
    return {each.name: _kind(hints[each.name]) for each in fields(shape)}


def _kind(hint: Any) -> type[Any] | None:
    for each in get_args(hint) if isinstance(hint, UnionType) else (hint,):
        found = get_origin(each) or each
        if found is tuple or (isinstance(found, type) and issubclass(found, StrEnum)):
            return cast("type[Any]", found)
    return None
