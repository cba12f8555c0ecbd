"""Goals of leads for the shares on the dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

import sqlalchemy as sa

from db.connection import Connection
from db.figures.tables import figure_goals
from db.rows import changed_rows, rows_as

EVERY_ACCOUNT: Final = ""
"""The ``user_id`` of a goal or note for all accounts."""


class GoalMeasure(StrEnum):
    """A share that a goal can be set for; stored, never renamed."""

    BLOCKED = "blocked"
    OVERTURNED = "overturned"
    ESCALATED = "escalated"
    FAILED = "failed"
    ANSWERED_IN_TIME = "answered_in_time"

    @property
    def is_floor(self) -> bool:
        """Whether the goal is the least share; the others are the most."""
        return self is GoalMeasure.ANSWERED_IN_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureGoal:
    """A goal.

    Attributes:
        user_id: the account; empty: all accounts together.
        share: 0..1.
        within_min: for ``answered_in_time``: minutes after which an answer is late.
    """

    user_id: str
    measure: GoalMeasure
    share: float
    within_min: int | None = None
    set_by: str = ""

    def missed(self, share: float) -> bool:
        """Whether a share misses the goal; a share equal to the goal does not."""
        return share < self.share if self.measure.is_floor else share > self.share


async def load_goals(connection: Connection, account: str | None) -> Mapping[GoalMeasure, FigureGoal]:
    """The goals of an account; of all accounts together for an account without goals."""
    kept = figure_goals.c
    query = (
        sa.select(kept.user_id, kept.measure, kept.share, kept.within_min, kept.set_by)
        .where(kept.user_id.in_({EVERY_ACCOUNT, account or EVERY_ACCOUNT}))
        .order_by(kept.user_id)
    )
    return {goal.measure: goal for goal in await rows_as(connection, FigureGoal, query)}


async def set_goal(connection: Connection, goal: FigureGoal) -> None:
    """Set a goal in place of an earlier one."""
    query = sa.text("""
        INSERT INTO figure_goals (user_id, measure, share, within_min, set_by)
        VALUES (:user_id, :measure, :share, :within_min, :set_by)
        ON CONFLICT (user_id, measure) DO UPDATE SET share = excluded.share,
            within_min = excluded.within_min, set_by = excluded.set_by, set_at = now()
    """)
    await connection.execute(query, asdict(goal))


async def remove_goal(connection: Connection, user_id: str, measure: GoalMeasure) -> bool:
    """Remove a goal; False where there was none."""
    kept = figure_goals.c
    query = sa.delete(figure_goals).where(kept.user_id == user_id, kept.measure == measure.value)
    return await changed_rows(connection, query) > 0
