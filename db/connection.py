"""A connection to Postgres: plain SQL as psycopg runs it, and statements of SQLAlchemy Core."""

from __future__ import annotations

import asyncio
from collections import namedtuple
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, Final, TypeVar, overload

import orjson
import psycopg
import sqlalchemy as sa
from psycopg.abc import Params, Query
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.util import LRUCache

DIALECT: Final = PGDialect_psycopg(dbapi=psycopg)  # type: ignore[no-untyped-call]
KEPT: Final = 1000
"""Number of compiled statements that are kept."""

Value = TypeVar("Value")

_compiled: Final[LRUCache[Any, Any]] = LRUCache(KEPT)


set_json_loads(orjson.loads)


class Rows:
    """All rows of one statement, in memory; a row has its columns as attributes and in order.

    Attributes:
        rowcount: number of rows that the statement returned or changed.
    """

    __slots__ = ("_names", "_rows", "rowcount")

    def __init__(self, names: tuple[str, ...], rows: list[TupleRow], rowcount: int) -> None:
        self._names = names
        self._rows = rows
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Any]:
        return map(_row_type(self._names)._make, self._rows)

    def dicts(self) -> list[dict[str, Any]]:
        """Every row by column name."""
        return [dict(zip(self._names, row, strict=True)) for row in self._rows]

    def first(self) -> Any | None:
        """The first row; None without rows."""
        return next(iter(self), None)

    def one(self) -> Any:
        """The only row; ValueError when there are more or none."""
        (row,) = self
        return row

    def scalars(self) -> list[Any]:
        """The first column of every row."""
        return [row[0] for row in self._rows]

    def scalar(self) -> Any | None:
        """The first column of the first row; None without rows."""
        return self._rows[0][0] if self._rows else None

    def scalar_one(self) -> Any:
        """The first column of the only row; ValueError when there are more or none."""
        ((value, *_),) = self._rows
        return value


class Connection(psycopg.AsyncConnection[TupleRow]):
    """The only kind of connection of Hushgate's services and pages."""

    @overload
    async def execute(self, query: sa.Executable, params: Mapping[str, Any] | None = None) -> Rows: ...

    @overload
    async def execute(
        self,
        query: Query,
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> psycopg.AsyncCursor[TupleRow]: ...

    async def execute(
        self,
        query: Any,
        params: Any = None,
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> Rows | psycopg.AsyncCursor[TupleRow]:
        """Run one statement.

        A statement of SQLAlchemy returns its rows. Text returns psycopg's cursor, with ``%s`` for values;
        without values, text may be several statements.

        Raises:
            psycopg.Error: Postgres refused the statement, or the connection broke.
        """
        if not isinstance(query, sa.Executable):
            return await super().execute(query, params, prepare=prepare, binary=binary)
        text, values = compiled(query, params)
        cursor = await super().execute(text, values)
        if self._pipeline is not None:
            await cursor._fetch_pipeline()  # noqa: SLF001  # whether there are rows is not known before
            if cursor.pgresult is None:  # psycopg has raised the error of an earlier statement elsewhere
                raise psycopg.errors.PipelineAborted("an earlier statement of the round failed")
        if cursor.description is None:
            return Rows((), [], cursor.rowcount)
        rows = await cursor.fetchall()
        return Rows(tuple(column.name for column in cursor.description), rows, cursor.rowcount)


class Reads:
    """Reads of one connection that are sent together."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []

    def read(self, waiting: Coroutine[Any, Any, Value]) -> asyncio.Task[Value]:
        """Begin one read; its result is there after the round."""
        task = asyncio.create_task(waiting)
        self._tasks.append(task)
        return task

    async def ended(self) -> None:
        """Wait for every read; raise the error that ended the round, else the first read's error."""
        found = await asyncio.gather(*self._tasks, return_exceptions=True)
        errors = [each for each in found if isinstance(each, BaseException)]
        errors.sort(key=_has_no_result)
        if errors:
            raise errors[0]


@asynccontextmanager
async def round_of_reads(connection: Connection) -> AsyncIterator[Reads]:
    """Reads in one round trip: each sends its statement before a result is waited for.

    Reads of several statements go on in the same way, statement by statement.

    Raises:
        psycopg.Error: one read failed; the others are given up.
    """
    reads = Reads()
    async with connection.pipeline():
        try:
            yield reads
        finally:
            await reads.ended()


def compiled(statement: sa.Executable, values: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """A statement's SQL with ``%(name)s``, and its values as psycopg takes them; compiled once per form."""
    given = dict(values or {})
    sql: Any  # SQLCompiler, whose members are partly private
    sql, extracted, collected, _ = statement._compile_w_cache(  # noqa: SLF001  # the cache of SQLAlchemy's own connections
        DIALECT, compiled_cache=_compiled, column_keys=sorted(given)
    )
    found = sql.construct_params(
        given, extracted_parameters=extracted, escape_names=False, _collected_params=collected
    )
    text, processors = sql.string, dict(sql._bind_processors)  # noqa: SLF001  # likewise
    if sql.post_compile_params or sql.literal_execute_params:
        expanded = sql._process_parameters_for_postcompile(found)  # noqa: SLF001  # likewise
        text, found = expanded.statement, dict(expanded.parameters)
        processors.update(expanded.processors)
    names = sql.escaped_bind_names
    return text, {
        names.get(name, name): processors[name](value) if name in processors else value
        for name, value in found.items()
    }


def _has_no_result(error: BaseException) -> bool:
    """Whether an error only says that an earlier statement of the round failed."""
    kinds = (psycopg.errors.PipelineAborted, psycopg.ProgrammingError)
    return isinstance(error, kinds) and error.sqlstate is None


@lru_cache(maxsize=KEPT)
def _row_type(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names, rename=True)  # noqa: PYI024  # columns are known at run time
