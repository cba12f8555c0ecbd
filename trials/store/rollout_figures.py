"""What the decisions of both arms of a rollout did since its last step."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.pool import Pool, fetch_dicts
from trials.pure.rollouts.bounds import ArmFigures, Measure, RolloutFigures
from trials.pure.statistics.sequential import ClusterSums
from worker.arms import PLACES
from worker.reasons import Reason, ReasonFamily

BLOCKED: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.BLOCKED]
BY_PEOPLE: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.PEOPLE]
"""Decisions about conversations that people own: no arm's."""
PLACE: Final = f"""mod(('x' || left(encode(sha256(
        convert_to({{rollout}}::text || ':' || {{conversation}}, 'UTF8')), 'hex'), 8))::bit(32)::bigint,
        {PLACES})"""
"""``worker.arms.place_of`` in SQL."""
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
