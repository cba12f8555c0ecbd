"""Rollouts: a candidate decides a share of conversations; their steps, and what both arms did."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from db.pool import Pool, fetch_dicts
from trials.pure.rollouts.bounds import (
    LEAST_DECISIONS,
    ArmFigures,
    Bound,
    Measure,
    RolloutFigures,
    parse_figures,
)
from trials.pure.statistics.sequential import PLANNED_UNITS, ClusterSums
from worker.arms import RunningRollout
from worker.reasons import Reason, ReasonFamily


class RolloutState(StrEnum):
    """Where a rollout is; stored, never renamed."""

    RUNNING = "running"
    RETURNED = "returned"
    FINISHED = "finished"


class StepKind(StrEnum):
    """What a step did; stored, never renamed."""

    START = "start"
    SHARE = "share"
    RETURN = "return"
    FINISH = "finish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A candidate on a share of an account's conversations; ``stepped_at`` is when its last step was."""

    rollout_id: UUID
    user_id: str
    candidate_id: UUID
    base_version: int
    share: float
    state: str
    bounds: Sequence[str]
    least: int
    metric: str
    planned: int
    stepped_at: datetime

    @property
    def started_at(self) -> datetime:
        """When it was started, from its id."""
        return datetime.fromtimestamp((self.rollout_id.int >> 80) / 1000, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStep:
    """A step with its author and reason.

    Attributes:
        automatic: a worker took it, as the rollout had to be returned.
        version: of the settings that the step stored, or that ended the rollout.
        figures: of both arms from the step before to this one; None where they were not measured.
    """

    kind: str
    share: float
    made_by: str
    automatic: bool
    reason: str
    made_at: datetime
    version: int | None
    figures: RolloutFigures | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a rollout declares when it starts.

    Attributes:
        share: 0..1 of the conversations.
        least: decisions before a bound is tested.
        planned: conversations at which the interval of the metric is narrowest.
    """

    share: float
    bounds: tuple[Bound, ...]
    least: int = LEAST_DECISIONS
    metric: Measure = Measure.OVERTURNS
    planned: int = PLANNED_UNITS


BLOCKED: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.BLOCKED]
BY_PEOPLE: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.PEOPLE]
"""Decisions about conversations that people own: no arm's."""
FIGURES: Final = """
    SELECT * FROM hushgate_rollout_figures(%(id)s, %(now)s, %(blocked)s::text[], %(people)s::text[])
"""
"""Workers may not read the audit; the function gives them sums only."""


async def load_figures(source: Pool, rollout_id: UUID, now: datetime) -> RolloutFigures:
    """The figures of both arms from the last step to ``now``."""
    values = {"id": rollout_id, "now": now, "blocked": BLOCKED, "people": BY_PEOPLE}
    rows = await fetch_dicts(source, FIGURES, values)
    live, candidate = (_arm([row for row in rows if row["tried"] is tried]) for tried in (False, True))
    return RolloutFigures(live=live, candidate=candidate)


def _arm(rows: list[dict[str, Any]]) -> ArmFigures:
    sums = {
        Measure(row["measure"]): ClusterSums(
            units=row["units"],
            hits=row["hits"] or 0.0,
            size=row["size"],
            hits_squared=row["hits_squared"] or 0.0,
            crossed=row["crossed"] or 0.0,
            size_squared=row["size_squared"],
        )
        for row in rows
    }
    return ArmFigures(
        sums=sums,
        p95_ms=(rows[0]["p95_ms"] or 0.0) if rows else 0.0,
        effective={Measure(row["measure"]): row["counted"] for row in rows},
        left_out=rows[0]["left_out"] if rows else 0,
    )


COLUMNS: Final = (
    "id AS rollout_id, user_id, candidate_id, base_version, share, state, bounds, least, metric, planned,"
    " stepped_at"
)
GET: Final = f"SELECT {COLUMNS} FROM rollouts WHERE id = %s"
LIST: Final = f"SELECT {COLUMNS} FROM rollouts WHERE user_id = %s ORDER BY id DESC LIMIT %s"
ALL_RUNNING: Final = f"SELECT {COLUMNS} FROM rollouts WHERE state = 'running' ORDER BY user_id"
STEPS: Final = """
    SELECT kind, share, made_by, automatic, reason, made_at, version, figures FROM rollout_steps
    WHERE rollout_id = %s ORDER BY id
"""
RUNNING: Final = """
    SELECT r.id AS rollout_id, r.candidate_id, r.user_id, r.base_version, c.changes, r.share
    FROM rollouts r JOIN candidates c ON c.id = r.candidate_id
    WHERE r.user_id = ANY(%s) AND r.state = 'running' AND r.share = (
        SELECT s.share FROM rollout_steps s WHERE s.rollout_id = r.id ORDER BY s.id DESC LIMIT 1)
        AND EXISTS (SELECT FROM rollout_steps s WHERE s.rollout_id = r.id AND s.kind = 'start')
"""
"""With the share of its last step: a rollout that no step started, or changed, is not followed."""
END: Final = """
    WITH ended AS (
        UPDATE rollouts SET state = 'returned', stepped_at = now()
        WHERE user_id = %(user_id)s AND state = 'running' RETURNING id
    )
    INSERT INTO rollout_steps (rollout_id, kind, share, made_by, reason, made_at, version)
    SELECT id, 'return', 0, %(made_by)s, 'other settings were stored', now(), %(version)s FROM ended
"""
"""Ends the rollout of an account whose settings are stored: its candidate was made from other settings."""


async def get_rollout(source: Pool, rollout_id: UUID) -> Rollout | None:
    """A rollout, or None."""
    found = await fetch_dicts(source, GET, (rollout_id,))
    return Rollout(**found[0]) if found else None


async def list_rollouts(source: Pool, user_id: str, *, limit: int = 20) -> tuple[Rollout, ...]:
    """The rollouts of an account, the newest first."""
    return tuple(Rollout(**row) for row in await fetch_dicts(source, LIST, (user_id, limit)))


async def list_running(source: Pool) -> tuple[Rollout, ...]:
    """The rollouts that run."""
    return tuple(Rollout(**row) for row in await fetch_dicts(source, ALL_RUNNING))


async def list_steps(source: Pool, rollout_id: UUID) -> tuple[RolloutStep, ...]:
    """The steps of a rollout, the oldest first."""
    rows = await fetch_dicts(source, STEPS, (rollout_id,))
    return tuple(RolloutStep(**row | {"figures": _figures(row["figures"])}) for row in rows)


async def running_rollouts(source: Pool, user_ids: Collection[str]) -> Mapping[str, RunningRollout]:
    """The running rollouts of these accounts, by account."""
    rows = await fetch_dicts(source, RUNNING, (list(user_ids),))
    return {row["user_id"]: RunningRollout(**row) for row in rows}


def _figures(stored: Any) -> RolloutFigures | None:
    return None if stored is None else parse_figures(stored)
