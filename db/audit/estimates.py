"""The planner's estimates of a search: its number of rows, and whether a scan is faster than an index."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from db.audit import snapshot_filters
from db.audit.filters import Filters
from db.connection import Connection
from db.tables import ai_decisions

COMMON: Final = 20_000
"""Labels on more decisions than this are found faster by a backward scan over time than by their index."""


class Explain(sa.Executable, sa.ClauseElement):
    """A query's plan instead of its rows."""

    inherit_cache = False

    def __init__(self, statement: sa.Select[Any]) -> None:
        self.statement = statement


@compiles(Explain)
def _explained(element: Explain, compiler: SQLCompiler, **options: object) -> str:
    return f"EXPLAIN (FORMAT JSON) {compiler.process(element.statement, **options)}"


async def estimated_rows(connection: Connection, query: sa.Select[Any]) -> int:
    """The number of rows that the planner expects."""
    plan = (await connection.execute(Explain(query))).scalar_one()
    return int(plan[0]["Plan"]["Plan Rows"])


async def with_scan_hint(connection: Connection, filters: Filters) -> Filters:
    """The same search, with ``walk`` set when its labels are frequent, which the planner cannot know."""
    marks = snapshot_filters.indexed_condition(filters.tier, filters.stage_outcome)
    if marks is None or filters.walk:
        return filters
    query: sa.Select[Any] = sa.select(sa.literal_column("1")).select_from(ai_decisions).where(marks)
    return replace(filters, walk=await estimated_rows(connection, query) > COMMON)
