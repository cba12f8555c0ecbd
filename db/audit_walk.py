"""From one decision to the next of the same list."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit_cursor import Position, Way
from db.audit_filters import Filters
from db.audit_search import Patience, Row, found

BRIEF: Final = Patience(at_once_s=0.05, slices_s=0.0)
"""A link to the next decision is worth no waiting: a search that takes longer gives none."""


async def newer(connection: AsyncConnection, filters: Filters, row: Row) -> UUID | None:
    """The decision above this one in the list."""
    return await _beside(connection, filters, row, Way.NEWER)


async def older(connection: AsyncConnection, filters: Filters, row: Row) -> UUID | None:
    """The decision below this one in the list."""
    return await _beside(connection, filters, row, Way.OLDER)


async def _beside(connection: AsyncConnection, filters: Filters, row: Row, way: Way) -> UUID | None:
    here = Position(way=way, at=row["created_at"], decision_id=row["id"])
    next_ones = await found(connection, filters, here, limit=1, patience=BRIEF)
    return next((each["id"] for each in next_ones.rows), None)
