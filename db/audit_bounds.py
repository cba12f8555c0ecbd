"""What is known of a search before it begins: when it can find anything, and whether an index helps it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from db.audit_filters import Filters, marked
from db.tables import ai_decisions, ai_rules

EARLIER: Final = timedelta(hours=1)
LATEST_USE: Final = timedelta(days=1)
"""How long after its successor a version may still decide, beside the account's longest hold."""
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
    """The same search, with what the planner cannot find out by itself."""
    if filters.rules_version is not None and filters.user_id is not None:
        filters = await _while_in_force(connection, filters)
    if (marks := marked(filters)) is not None and not filters.walk:
        query: sa.Select[Any] = sa.select(sa.literal_column("1")).select_from(ai_decisions).where(marks)
        return replace(filters, walk=await estimated(connection, query) > COMMON)
    return filters


async def _while_in_force(connection: AsyncConnection, filters: Filters) -> Filters:
    """Bound by the time in which a version of the settings can have decided: no index knows versions."""
    query = (
        sa.select(ai_rules.c.version, ai_rules.c.changed_at, ai_rules.c.hold_max_s)
        .where(
            ai_rules.c.user_id == filters.user_id,
            ai_rules.c.version.in_([filters.rules_version, (filters.rules_version or 0) + 1]),
        )
        .order_by(ai_rules.c.version)
    )
    since, until, hold = filters.since, filters.until, timedelta()
    for version, changed_at, hold_max_s in await connection.execute(query):
        if version == filters.rules_version:
            since, hold = _later(since, changed_at - EARLIER), timedelta(seconds=min(hold_max_s, 1e8))
        else:
            ended = changed_at + max(hold, timedelta(seconds=min(hold_max_s, 1e8))) + LATEST_USE
            until = ended if until is None else min(until, ended)
    return replace(filters, since=since, until=until)


def _later(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else max(one, other)
