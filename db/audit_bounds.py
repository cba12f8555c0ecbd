"""What is known of a search before it begins: how many it will find, and whether an index helps it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from db import audit_marks
from db.audit_filters import Filters
from db.tables import ai_decisions

COMMON: Final = 20_000
"""Marks that more decisions have are found sooner by walking back through time than by their index."""


class Explain(sa.Executable, sa.ClauseElement):
    """A query's plan instead of its rows."""

    inherit_cache = False

    def __init__(self, statement: sa.Select[Any]) -> None:
        self.statement = statement


@compiles(Explain)
def _explained(element: Explain, compiler: SQLCompiler, **options: object) -> str:
    return f"EXPLAIN (FORMAT JSON) {compiler.process(element.statement, **options)}"


async def estimated(connection: AsyncConnection, query: sa.Select[Any]) -> int:
    """How many rows the planner expects."""
    plan = (await connection.execute(Explain(query))).scalar_one()
    return int(plan[0]["Plan"]["Plan Rows"])


async def narrowed(connection: AsyncConnection, filters: Filters) -> Filters:
    """The same search, with what the planner cannot find out: whether to look into each decision."""
    marks = audit_marks.indexed(filters.tier, filters.stage_outcome)
    if marks is None or filters.walk:
        return filters
    query: sa.Select[Any] = sa.select(sa.literal_column("1")).select_from(ai_decisions).where(marks)
    return replace(filters, walk=await estimated(connection, query) > COMMON)
