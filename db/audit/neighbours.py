"""The next and the previous decision of a list."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit.cursor import Direction, Position
from db.audit.filters import Filters
from db.audit.search import Patience, SearchRow, find_decisions

BRIEF: Final = Patience(at_once_s=0.05, slices_s=0.0)
"""A search that takes longer gives no link, so that it does not delay the page."""


async def newer_decision(connection: AsyncConnection, filters: Filters, row: SearchRow) -> UUID | None:
    """The decision above this one in the list."""
    return await _beside(connection, filters, row, Direction.NEWER)


async def older_decision(connection: AsyncConnection, filters: Filters, row: SearchRow) -> UUID | None:
    """The decision below this one in the list."""
    return await _beside(connection, filters, row, Direction.OLDER)


async def _beside(
    connection: AsyncConnection, filters: Filters, row: SearchRow, way: Direction
) -> UUID | None:
    here = Position(way=way, at=row["created_at"], decision_id=row["id"])
    next_ones = await find_decisions(connection, filters, here, limit=1, patience=BRIEF)
    return next((each["id"] for each in next_ones.rows), None)
