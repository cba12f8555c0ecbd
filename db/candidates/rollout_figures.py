"""What the decisions of both arms of a rollout did since its last step."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.pool import Pool, fetch_dicts
from worker.reasons import Reason, ReasonFamily
from worker.rollouts.arms import PLACES
from worker.rollouts.bounds import ArmFigures, Measure, RolloutFigures
from worker.statistics.sequential import ClusterSums

BLOCKED: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.BLOCKED]
BY_PEOPLE: Final = [str(each) for each in Reason if each.spec.family is ReasonFamily.PEOPLE]
"""Decisions about conversations that people own: no arm's."""
PLACE: Final = f"""mod(('x' || left(encode(sha256(
        convert_to({{rollout}}::text || ':' || {{conversation}}, 'UTF8')), 'hex'), 8))::bit(32)::bigint,
        {PLACES})"""
"""``worker.rollouts.arms.place_of`` in SQL."""
FIGURES: Final = f"""
    WITH made AS MATERIALIZED (
        SELECT d.conversation_id, d.candidate_id IS NOT NULL AS tried,
               (d.decision = 'escalate')::int AS escalated,
               (d.reason_code = ANY(%(blocked)s))::int AS blocked,
               greatest(0, extract(epoch FROM d.created_at
                   - (d.snapshot_json ->> 'received_at')::timestamptz) * 1000)::float8 AS ms,
               (SELECT coalesce(sum(usd::float8), 0) FROM jsonb_path_query(
                   d.snapshot_json, '$.costs[*].usd ? (@.type() == "number")') AS usd) AS usd,
               s.state
        FROM rollouts r JOIN ai_decisions d ON d.user_id = r.user_id
        LEFT JOIN review_states s ON s.decision_id = d.id AND s.state IN ('agree', 'overturn')
        WHERE r.id = %(id)s AND d.created_at >= r.stepped_at AND d.created_at < %(now)s
            AND d.reason_code <> ALL(%(people)s)
            AND (d.candidate_id = r.candidate_id OR d.candidate_id IS NULL
                AND {PLACE.format(rollout="r.id", conversation="d.conversation_id")}
                    >= round(r.share * {PLACES}))
    ), units AS (
        SELECT tried, count(*) AS n, sum(escalated) AS escalated, sum(blocked) AS blocked, sum(ms) AS ms,
               sum(usd) AS usd, count(state) AS reviewed,
               count(*) FILTER (WHERE state = 'overturn') AS overturned
        FROM made GROUP BY tried, conversation_id
    ), measured AS (
        SELECT units.tried, m.measure, m.hits, m.size
        FROM units, LATERAL (VALUES
            ('overturns', overturned::float8, reviewed::float8),
            ('escalations', escalated::float8, n::float8),
            ('blocks', blocked::float8, n::float8), ('latency', ms, n::float8), ('cost', usd, n::float8)
        ) AS m (measure, hits, size) WHERE m.size > 0
    ), fast AS (
        SELECT tried, percentile_cont(0.95) WITHIN GROUP (ORDER BY ms) AS p95_ms FROM made GROUP BY tried
    )
    SELECT tried, measure, count(*) AS units, sum(hits) AS hits, sum(size) AS size,
           sum(hits * hits) AS hits_squared, sum(hits * size) AS crossed, sum(size * size) AS size_squared,
           min(p95_ms) AS p95_ms
    FROM measured JOIN fast USING (tried) GROUP BY tried, measure
"""


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
    return ArmFigures(sums=sums, p95_ms=(rows[0]["p95_ms"] or 0.0) if rows else 0.0)
