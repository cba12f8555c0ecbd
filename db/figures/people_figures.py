"""What people did in a range: rulings on its decisions, and escalations answered in time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.figures.reach import FigureFilter, FigureRow
from db.rows import Row, all_rows

_USERS: Final = "(CAST(:users AS text[]) IS NULL OR {table}.user_id = ANY (CAST(:users AS text[])))"
_REVIEWED: Final = """
    SELECT date_bin(:step, s.decision_at, :since) AS step, count(*) AS total,
           count(*) FILTER (WHERE s.state = 'overturn') AS hits
    FROM review_states AS s {join}
    WHERE s.decision_at >= :since AND s.decision_at < :until AND s.state IN ('agree', 'overturn')
          AND s.decision_id <> ALL (CAST(:hidden AS uuid[])) AND {users}
    GROUP BY 1 ORDER BY 1
"""
_OF_SCOPE: Final = """
    JOIN ai_decisions AS d ON d.created_at = s.decision_at AND d.id = s.decision_id AND d.scope = :scope
"""
_ANSWERED: Final = f"""
    SELECT date_bin(:step, e.opened_at, :since) AS step,
           count(*) FILTER (WHERE e.cause = 'answered' AND e.closed_at <= e.opened_at + :within) AS hits,
           count(*) AS total
    FROM escalations AS e
    WHERE e.opened_at >= :since AND e.opened_at < :until AND {_USERS.format(table="e")}
          AND (CAST(:scope AS text) IS NULL OR e.scope = :scope)
          AND (e.cause IN ('answered', 'released', 'idle')
               OR e.closed_at IS NULL AND e.opened_at + :within <= :now)
    GROUP BY 1 ORDER BY 1
"""
_WAITING: Final = f"""
    SELECT count(*) AS waiting, min(e.opened_at) AS oldest FROM escalations AS e
    WHERE e.closed_at IS NULL AND {_USERS.format(table="e")}
          AND (CAST(:scope AS text) IS NULL OR e.scope = :scope)
"""
REVIEWED: Final = {
    True: sa.text(_REVIEWED.format(join=_OF_SCOPE, users=_USERS.format(table="s"))),
    False: sa.text(_REVIEWED.format(join="", users=_USERS.format(table="s"))),
}
ANSWERED: Final = sa.text(_ANSWERED)
WAITING: Final = sa.text(_WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingEscalations:
    """Open escalations now, and since when the oldest waits."""

    waiting: int
    oldest: datetime | None


async def count_overturned(
    connection: Connection, filters: FigureFilter, *, hidden: Collection[UUID] = ()
) -> tuple[FigureRow, ...]:
    """step, hits, total: decisions of a step that were overturned, of those agreed with or overturned.

    Decisions in ``hidden`` are left out: the person must not see their reviews yet.
    """
    values = _values(filters) | {"step": filters.step, "hidden": list(hidden)}
    if filters.scope is None:
        del values["scope"]
    return await all_rows(connection, REVIEWED[filters.scope is not None], values)


async def count_answered(
    connection: Connection, filters: FigureFilter, *, within: timedelta, now: datetime
) -> tuple[FigureRow, ...]:
    """step, hits, total: escalations of a step that people answered in time, of those that needed an answer.

    An escalation that was given back to the AI or became idle without an answer was not answered. Open ones
    count once they are late; those that a later one replaced, that a person dismissed or overturned, or whose
    message was deleted do not.
    """
    values = _values(filters) | {"step": filters.step, "within": within, "now": now}
    return await all_rows(connection, ANSWERED, values)


async def load_waiting(connection: Connection, filters: FigureFilter) -> WaitingEscalations:
    """The open escalations, whatever the range is."""
    values = {name: value for name, value in _values(filters).items() if name in ("users", "scope")}
    (row,) = await all_rows(connection, WAITING, values)
    return WaitingEscalations(**row)


def _values(filters: FigureFilter) -> Row:
    return {"users": filters.chosen, "scope": filters.scope, "since": filters.since, "until": filters.until}
