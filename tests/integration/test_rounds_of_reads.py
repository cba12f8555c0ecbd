"""Rounds of reads: several statements in one round trip, and the error of one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from db.connection import Connection, round_of_reads

Read = Callable[[Connection], Coroutine[Any, Any, object]]


async def works(connection: Connection) -> object:
    """A statement of Core."""
    return (await connection.execute(sa.select(sa.literal(1)))).scalar_one()


async def works_twice(connection: Connection) -> object:
    """Two statements, one after the other."""
    return [await works(connection), await works(connection)]


async def works_as_text(connection: Connection) -> object:
    """A statement as text."""
    return await (await connection.execute("SELECT 1")).fetchall()


async def fails(connection: Connection) -> object:
    """A statement that Postgres refuses."""
    return (await connection.execute(sa.text("SELECT 1 / 0"))).scalar_one()


async def fails_later(connection: Connection) -> object:
    """A second statement that Postgres refuses."""
    return [await works(connection), await fails(connection)]


def read_together(url: str, *reads: Read) -> tuple[list[object], object]:
    """The results of a round of reads, or their errors; and what a statement after the round returns."""

    async def run() -> tuple[list[object], object]:
        async with await Connection.connect(url, autocommit=True) as connection:
            try:
                async with round_of_reads(connection) as together:
                    tasks = [together.read(read(connection)) for read in reads]
            except psycopg.Error as error:
                return [error, *(task.exception() for task in tasks)], await works(connection)
            return [task.result() for task in tasks], await works(connection)

    return asyncio.run(run())


def test_reads_of_a_round_have_their_own_results(database_url: str) -> None:
    """Statements of Core and text, also several of one read."""
    assert read_together(database_url, works_twice, works_as_text, works) == ([[1, 1], [(1,)], 1], 1)


@pytest.mark.parametrize(
    "reads",
    [
        (works, fails, works_twice),
        (fails, works, works_as_text),
        (fails_later, works_twice, fails_later),
        (works_as_text, fails, works_as_text, works_twice),
    ],
)
def test_the_error_of_a_round_is_what_postgres_said(database_url: str, reads: tuple[Read, ...]) -> None:
    """A read without a result does not hide the cause, and the connection works afterwards."""
    (raised, *_), after = read_together(database_url, *reads)

    assert isinstance(raised, psycopg.errors.DivisionByZero)
    assert after == 1


def test_a_statement_after_a_failed_one_has_no_rows(database_url: str) -> None:
    """A read whose statement Postgres never ran fails; it does not look empty."""
    (_, *errors), _after = read_together(database_url, fails, works, works_twice)

    assert [type(error) for error in errors[1:]] == [psycopg.errors.PipelineAborted] * 2
