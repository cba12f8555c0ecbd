"""Rows of counted figures, kept in memory until a span is counted again.

The tables of figures change only together with ``figure_spans``. A statement on them therefore returns the
same rows as long as the counted spans of its range are the same: kept rows are never out of date.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from db.connection import Connection
from db.rows import Row, all_rows

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


@dataclass(slots=True)
class KeptRows:
    """Rows by what was asked and when its spans were counted; the least recently used are dropped first."""

    most: int = MOST_ROWS
    rows: int = 0
    _found: OrderedDict[Key, FoundRows] = field(default_factory=OrderedDict)

    def get(self, key: Key) -> FoundRows | None:
        """The kept rows of a key."""
        if key in self._found:
            self._found.move_to_end(key)
        return self._found.get(key)

    def keep(self, key: Key, rows: FoundRows) -> None:
        """Keep rows in place of those that were not used for longest."""
        self.rows += len(rows) + 1 - self._weight(self._found.pop(key, None))
        self._found[key] = rows
        while self.rows > self.most and self._found:
            self.rows -= self._weight(self._found.popitem(last=False)[1])

    @staticmethod
    def _weight(rows: FoundRows | None) -> int:
        return 0 if rows is None else len(rows) + 1


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
            found = await all_rows(self.connection, statement, values)
            self.kept.keep(key, found)
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
        kept=KeptRows() if kept is None else kept,
    )


def whole_hour(moment: datetime) -> datetime:
    """The moment, or the next whole hour: no span starts between."""
    floor = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return floor if floor == moment else floor + HOUR
