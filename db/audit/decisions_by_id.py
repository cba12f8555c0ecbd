"""Decisions by their ids, each found by the time in its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.columns import Timestamp
from db.identifiers import uuid_time_bounds
from db.tables import ai_decisions

FOUND: Final = sa.text("""
    SELECT found.created_at, found.id
    FROM unnest(CAST(:ids AS uuid[]), CAST(:since AS timestamptz[]), CAST(:until AS timestamptz[]))
            AS asked (id, since, until),
        LATERAL (SELECT created_at, id FROM ai_decisions AS d
            WHERE d.created_at BETWEEN asked.since AND asked.until AND d.id = asked.id
                AND (d.created_at, d.id) BETWEEN (asked.since, asked.id) AND (asked.until, asked.id)
            LIMIT 1) AS found
""").columns(created_at=Timestamp, id=sa.Uuid)
"""``LIMIT 1`` and the rows compared keep the planner at one look-up in the key for each: it expects the
times to hold half a percent of all decisions."""


def found_decisions(ids: Sequence[UUID]) -> tuple[sa.FromClause, sa.ColumnElement[bool]]:
    """The keys of those that exist, and the condition that joins ``ai_decisions``.

    A range of times over all ids would hold every decision in between; a condition for each id takes
    longer to plan than to read.
    """
    bounds = [uuid_time_bounds(each) for each in ids]
    since, until = [first for first, _ in bounds], [last for _, last in bounds]
    found = FOUND.bindparams(ids=list(ids), since=since, until=until).subquery("found")
    columns = ai_decisions.c
    return found, sa.and_(columns.created_at == found.c.created_at, columns.id == found.c.id)
