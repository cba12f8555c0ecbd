"""Rollouts: candidates that decide a share of conversations, their steps, and which candidate decided.

Law: as 0001. The previous release tries no candidate, and leaves ``candidate_id`` empty: its decisions in the
candidate's conversations are in neither arm.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

revision: str = "0065"
down_revision: str | Sequence[str] | None = "0064"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
GRANTS = (
    "GRANT SELECT, INSERT ON rollouts, rollout_steps TO hushgate_reviewer",
    "GRANT UPDATE (state, share, stepped_at) ON rollouts TO hushgate_reviewer",
    "GRANT SELECT ON rollouts, rollout_steps TO hushgate_worker",
)
"""A worker's login can end a rollout, by the function of 0074, and put nothing in force."""

FIGURES = """
    CREATE FUNCTION {schema}.hushgate_rollout_figures(
        rollout uuid, moment timestamptz, blocked_codes text[], people_codes text[])
    RETURNS TABLE (tried boolean, measure text, units bigint, hits float8, size float8,
        hits_squared float8, crossed float8, size_squared float8, p95_ms float8)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    WITH made AS MATERIALIZED (
        SELECT d.conversation_id, d.candidate_id IS NOT NULL AS tried,
               (d.decision = 'escalate')::int AS escalated,
               (d.reason_code = ANY(blocked_codes))::int AS blocked,
               greatest(0, extract(epoch FROM d.created_at
                   - (d.snapshot_json ->> 'received_at')::timestamptz) * 1000)::float8 AS ms,
               (SELECT coalesce(sum(usd::float8), 0) FROM jsonb_path_query(
                   d.snapshot_json, '$.costs[*].usd ? (@.type() == "number")') AS usd) AS usd,
               s.state
        FROM rollouts r JOIN ai_decisions d ON d.user_id = r.user_id
        LEFT JOIN review_states s ON s.decision_id = d.id AND s.state IN ('agree', 'overturn')
        WHERE r.id = rollout AND d.created_at >= r.stepped_at AND d.created_at < moment
            AND d.reason_code <> ALL(people_codes)
            AND (d.candidate_id = r.candidate_id OR d.candidate_id IS NULL
                AND mod(('x' || left(encode(sha256(
        convert_to(r.id::text || ':' || d.conversation_id, 'UTF8')), 'hex'), 8))::bit(32)::bigint, 10000)
                    >= round(r.share * 10000))
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
    $$
"""


def upgrade() -> None:
    """Add the tables and the column."""
    op.add_column(
        "ai_decisions",
        sa.Column(
            "candidate_id", sa.Uuid(), nullable=True, comment="whose settings decided; null: those in force"
        ),
    )
    _create_rollouts()
    _create_steps()
    for statement in GRANTS:
        op.execute(statement)
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.get_bind().exec_driver_sql(FIGURES.replace("{schema}", schema))
    op.execute("REVOKE ALL ON FUNCTION hushgate_rollout_figures FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_rollout_figures TO hushgate_worker, hushgate_reviewer")


def downgrade() -> None:
    """Remove them."""
    op.execute("DROP FUNCTION hushgate_rollout_figures")
    op.drop_table("rollout_steps")
    op.drop_table("rollouts")
    op.drop_column("ai_decisions", "candidate_id")


def _text(name: str, comment: str, **more: Any) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), nullable=False, comment=comment, **more)


def _whole(name: str, comment: str) -> "sa.Column[int]":
    return sa.Column(name, sa.Integer(), nullable=False, comment=comment)


def _create_rollouts() -> None:
    share = "0..1 of the conversations"
    op.create_table(
        "rollouts",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        _text("user_id", "the account"),
        sa.Column("candidate_id", sa.Uuid(), nullable=False),
        _whole("base_version", "of ai_rules; with any other in force nothing is tried"),
        sa.Column("share", DOUBLE_PRECISION(), nullable=False, comment=share),
        _text("state", "running, returned or finished", server_default="running"),
        sa.Column(
            "bounds", sa.ARRAY(sa.Text()), nullable=False, comment="as worker.rollouts.bounds reads them"
        ),
        _whole("least", "decisions before a bound is tested"),
        _text("metric", "what is compared, declared at the start"),
        _whole("planned", "conversations at which the interval is narrowest"),
        sa.Column("stepped_at", TIME, nullable=False, comment="of the last step; figures are since then"),
        sa.CheckConstraint("share > 0 AND share <= 1", name=op.f("ck_rollouts_share_range")),
        sa.CheckConstraint(
            "state IN ('running', 'returned', 'finished')", name=op.f("ck_rollouts_state_known")
        ),
        sa.ForeignKeyConstraint(
            ["candidate_id"], ["candidates.id"], name=op.f("fk_rollouts_candidate_id_candidates")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rollouts")),
        comment="candidates that decide a share of an account's conversations",
    )
    op.create_index("ix_rollouts_account", "rollouts", ["user_id", "id"])
    op.create_index(
        "ix_rollouts_running",
        "rollouts",
        ["user_id"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
    )


def _create_steps() -> None:
    op.create_table(
        "rollout_steps",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("rollout_id", sa.Uuid(), nullable=False),
        _text("kind", "start, share, return or finish"),
        sa.Column("share", DOUBLE_PRECISION(), nullable=False, comment="0..1, from then on"),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "version",
            sa.Integer(),
            nullable=True,
            comment="of ai_rules that the step stored, or that ended the rollout",
        ),
        sa.CheckConstraint(
            "kind IN ('start', 'share', 'return', 'finish')", name=op.f("ck_rollout_steps_kind_known")
        ),
        sa.ForeignKeyConstraint(
            ["rollout_id"], ["rollouts.id"], name=op.f("fk_rollout_steps_rollout_id_rollouts")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rollout_steps")),
        comment="what was done with a rollout, append-only",
    )
    op.create_index("ix_rollout_steps_rollout", "rollout_steps", ["rollout_id", "id"])
