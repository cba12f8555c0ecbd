"""Figures of rollouts by weighted reviews, stored with each step; an index of the decisions of candidates.

Law: as 0001. The function keeps its name and its columns; the previous release reads those it knows.
``rollout_steps.figures`` is nullable: the previous release writes steps without figures.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from db import partition_indexes

revision: str = "0074"
down_revision: str | Sequence[str] | None = "0072"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

INDEXES = {"candidate": "(candidate_id, created_at, id) WHERE candidate_id IS NOT NULL"}
ARM = """mod(('x' || left(encode(sha256(
        convert_to(r.id::text || ':' || d.conversation_id, 'UTF8')), 'hex'), 8))::bit(32)::bigint, 10000)"""
MADE = f"""
        SELECT d.id, d.conversation_id, d.candidate_id IS NOT NULL AS tried,
               (d.decision = 'escalate')::int AS escalated,
               (d.reason_code = ANY(blocked_codes))::int AS blocked,
               greatest(0, extract(epoch FROM d.created_at
                   - (d.snapshot_json ->> 'received_at')::timestamptz) * 1000)::float8 AS ms,
               (SELECT coalesce(sum(usd::float8), 0) FROM jsonb_path_query(
                   d.snapshot_json, '$.costs[*].usd ? (@.type() == "number")') AS usd) AS usd,
               REVIEWED
        FROM rollouts r JOIN ai_decisions d ON d.user_id = r.user_id
        LEFT JOIN review_states s ON s.decision_id = d.id AND s.state IN ('agree', 'overturn')
        JOINED
        WHERE r.id = rollout AND d.created_at >= r.stepped_at AND d.created_at < moment
            AND d.reason_code <> ALL(people_codes)
            AND (d.candidate_id = r.candidate_id OR d.candidate_id IS NULL
                AND {ARM} >= round(r.share * 10000))
"""
SAMPLED = """LEFT JOIN LATERAL (
            SELECT v.ruling, 1 / i.chance AS weight
            FROM decision_reviews v JOIN queue_items i ON i.id = v.item_id JOIN queues q ON q.id = i.queue_id
            WHERE v.decision_id = s.decision_id AND v.ruling <> 'withdrawn' AND v.created_at < moment
                AND v.source NOT IN ('bulk', 'golden', 'blind') AND q.kind = 'sample' AND i.chance > 0
                AND NOT EXISTS (SELECT FROM decision_reviews later WHERE later.withdraws = v.id)
            ORDER BY v.created_at DESC, v.id DESC LIMIT 1
        ) w ON w.ruling <> 'unsure'"""
"""The newest standing review of a decision that a sample drew, as in ``db.figures.error_rates``."""
HEAD = """
    CREATE FUNCTION {schema}.hushgate_rollout_figures(
        rollout uuid, moment timestamptz, blocked_codes text[], people_codes text[])
    RETURNS TABLE (tried boolean, measure text, units bigint, hits float8, size float8,
        hits_squared float8, crossed float8, size_squared float8, p95_ms float8MORE)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    WITH made AS MATERIALIZED (
"""
FAST = "SELECT tried, percentile_cont(0.95) WITHIN GROUP (ORDER BY ms) AS p95_ms"
WEIGHTED = (
    HEAD.replace("MORE", ", counted float8, left_out bigint")
    + MADE.replace("REVIEWED", "s.state, w.ruling, w.weight").replace("JOINED", SAMPLED)
    + f"""
    ), units AS (
        SELECT tried, count(*) AS n, sum(escalated) AS escalated, sum(blocked) AS blocked, sum(ms) AS ms,
               sum(usd) AS usd, coalesce(sum(weight), 0) AS weight, coalesce(sum(weight ^ 2), 0) AS squares,
               coalesce(sum(weight) FILTER (WHERE ruling = 'overturn'), 0) AS overturned
        FROM made GROUP BY tried, conversation_id
    ), measured AS (
        SELECT units.tried, m.measure, m.hits, m.size, m.squares
        FROM units, LATERAL (VALUES
            ('overturns', overturned::float8, weight::float8, squares::float8),
            ('escalations', escalated::float8, n::float8, n::float8),
            ('blocks', blocked::float8, n::float8, n::float8),
            ('latency', ms, n::float8, n::float8), ('cost', usd, n::float8, n::float8)
        ) AS m (measure, hits, size, squares) WHERE m.size > 0
    ), whole AS (
        {FAST}, count(*) FILTER (WHERE state IS NOT NULL AND weight IS NULL) AS left_out
        FROM made GROUP BY tried
    )
    SELECT tried, measure, count(*) AS units, sum(hits) AS hits, sum(size) AS size,
           sum(hits * hits) AS hits_squared, sum(hits * size) AS crossed, sum(size * size) AS size_squared,
           min(p95_ms) AS p95_ms, sum(size) ^ 2 / sum(squares) AS counted, min(left_out) AS left_out
    FROM measured JOIN whole USING (tried) GROUP BY tried, measure
    $$
"""
)
"""``counted`` is Kish's effective number of decisions: their number where all weigh the same."""
PLAIN = (
    HEAD.replace("MORE", "")
    + MADE.replace("REVIEWED", "s.state").replace("JOINED", "")
    + f"""
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
        {FAST} FROM made GROUP BY tried
    )
    SELECT tried, measure, count(*) AS units, sum(hits) AS hits, sum(size) AS size,
           sum(hits * hits) AS hits_squared, sum(hits * size) AS crossed, sum(size * size) AS size_squared,
           min(p95_ms) AS p95_ms
    FROM measured JOIN fast USING (tried) GROUP BY tried, measure
    $$
"""
)

RETURN = """
    CREATE FUNCTION {schema}.hushgate_return_rollout(
        rollout uuid, why text, measured jsonb, moment timestamptz)
    RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    BEGIN
        UPDATE rollouts SET state = 'returned', stepped_at = moment WHERE id = rollout AND state = 'running';
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        INSERT INTO rollout_steps (rollout_id, kind, share, made_by, reason, made_at, figures)
            VALUES (rollout, 'return', 0, 'guardrail', why, moment, measured);
        RETURN true;
    END $$
"""
"""The automatic return: the only step that a worker takes."""


def upgrade() -> None:
    """Replace the function, add the column, the index and the automatic return."""
    op.add_column(
        "rollout_steps",
        sa.Column(
            "figures",
            JSONB(),
            nullable=True,
            comment="of both arms before the step, as worker.rollouts.stored writes them; null: not measured",
        ),
        if_not_exists=True,
    )
    _replace(WEIGHTED)
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute("DROP FUNCTION IF EXISTS hushgate_return_rollout")
    op.get_bind().exec_driver_sql(RETURN.replace("{schema}", schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_return_rollout FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_return_rollout TO hushgate_worker, hushgate_reviewer")
    partition_indexes.build_indexes(INDEXES)


def downgrade() -> None:
    """The function as before, without column and index."""
    partition_indexes.drop_indexes(INDEXES)
    _replace(PLAIN)
    op.execute("DROP FUNCTION hushgate_return_rollout")
    op.drop_column("rollout_steps", "figures")


def _replace(function: str) -> None:
    op.execute("DROP FUNCTION IF EXISTS hushgate_rollout_figures")
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.get_bind().exec_driver_sql(function.replace("{schema}", schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_rollout_figures FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_rollout_figures TO hushgate_worker, hushgate_reviewer")
