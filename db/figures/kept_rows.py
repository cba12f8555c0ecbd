"""Rows of counted figures, kept in memory until a span is counted again.

The tables of figures change only together with ``figure_spans``. A statement on them therefore returns the
same rows as long as the counted spans of its range are the same: kept rows are never out of date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from db.connection import Connection
from db.rows import Row, all_rows
from worker.recent import Recent

MOST_ROWS: Final = 20_000
"""Rows that are kept, 10 MB by tracemalloc; a dashboard of a month with all of its tables has some 3,000."""
HOUR: Final = timedelta(hours=1)
Key: TypeAlias = tuple[object, ...]
FoundRows: TypeAlias = tuple[Row, ...]

_STAMP: Final = sa.text("""
    SELECT count(*) AS spans, sum(extract(epoch FROM filled_at)) AS filled,
           (SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions) AS first
    FROM figure_spans WHERE start >= :since AND start < :until
""")


KeptRows: TypeAlias = Recent[Key, FoundRows]
"""Rows by what was asked and when its spans were counted."""


def kept_rows(most: int = MOST_ROWS) -> KeptRows:
    """Room for this many rows."""
    return Recent(most, weight=lambda rows: len(rows) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFigures:
    """The tables of figures as a connection sees them; ``first`` is the audit's first hour, None if empty."""

    connection: Connection
    stamp: Key
    first: datetime | None
    kept: KeptRows

    async def rows(self, statement: sa.TextClause, values: Mapping[str, Any]) -> FoundRows:
        """The rows of a statement on tables of figures alone; callers must not change them."""
        frozen = (tuple(each) if isinstance(each, list) else each for each in values.values())
        key = (self.stamp, statement.text, *frozen)
        found = self.kept.get(key)
        if found is None:
            found = self.kept.keep(key, await all_rows(self.connection, statement, values))
        return found


async def counted_figures(
    connection: Connection, since: datetime, until: datetime, kept: KeptRows | None
) -> CountedFigures:
    """The counted spans from the day of ``since`` on; without ``kept`` every statement is executed."""
    values = {"since": since.replace(hour=0), "until": until}
    spans, filled, first = (await connection.execute(_STAMP, values)).one()
    return CountedFigures(
        connection=connection,
        stamp=(values["since"], whole_hour(until), spans, filled, first),
        first=first,
        kept=kept_rows() if kept is None else kept,
    )


def whole_hour(moment: datetime) -> datetime:
    """The moment, or the next whole hour: no span starts between."""
    floor = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return floor if floor == moment else floor + HOUR
