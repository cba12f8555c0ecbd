"""Shadows: candidates that decide every new event again, and what they would have ended otherwise.

Law: as 0001. The previous release has no shadows. Functions keep their names and what they did before.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

revision: str = "0070"
down_revision: str | Sequence[str] | None = "0069"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
GRANTS = (
    "GRANT SELECT, INSERT ON shadows, shadow_results TO hushgate_reviewer",
    "GRANT UPDATE (state, reached_at, reached_id, counts, day, day_decisions, day_usd, usd, ended_at,"
    " ended_by, ended_why) ON shadows TO hushgate_reviewer",
)
SWEEP_BEFORE = "    ('jobs', 'id', 'uuid',"
SWEPT = """    ('shadow_results', 'id', 'uuid', 'created_at', '23 hours', 'true',
        'hushgate_is_held(t.user_id, t.decision_id, t.conversation_id, t.author_id)'),
"""
PREVIEW_BEFORE = "'quarantine', 'held_drafts',"
LEFT_OVER_BEFORE = """            UNION ALL SELECT user_id, decision_id, conversation_id, opened_at, author_id FROM escalations
"""
LEFT_OVER = """            UNION ALL SELECT user_id, decision_id, conversation_id, created_at, author_id FROM shadow_results
"""
# A candidate's reply may repeat lines of the conversation's other authors, as a recording has them.
COPIES_BEFORE = "        DELETE FROM golden_items t WHERE t.decision_id = ANY(ids);\n"
COPIES = """        DELETE FROM shadow_results t WHERE t.decision_id = ANY(ids) OR t.decision_id IN (
            SELECT d.id FROM ai_decisions d WHERE d.user_id = account AND d.conversation_id = ANY(places)
                AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id));
        GET DIAGNOSTICS gone = ROW_COUNT;
        counts := counts || jsonb_build_object('shadow_results', gone);
"""
EXPIRE_BEFORE = "AND h.expires_at > moment"
EXPIRE = """;
        DELETE FROM shadow_results r USING ai_decisions d
        WHERE d.user_id = account AND d.conversation_id = conversation AND d.created_at < moment
            AND r.decision_id = d.id AND NOT hushgate_is_held(d.user_id, d.id, d.conversation_id, d.author_id)"""
FUNCTIONS = (
    ("hushgate_expire_held_drafts", EXPIRE_BEFORE, EXPIRE_BEFORE + EXPIRE),
    ("hushgate_sweep_rows", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_retention_due", SWEEP_BEFORE, SWEPT + SWEEP_BEFORE),
    ("hushgate_preview_erasure", PREVIEW_BEFORE, f"{PREVIEW_BEFORE} 'shadow_results',"),
    ("hushgate_erase_rows", LEFT_OVER_BEFORE, LEFT_OVER_BEFORE + LEFT_OVER),
    ("hushgate_erase_copies", COPIES_BEFORE, COPIES + COPIES_BEFORE),
)
"""Function, a part of its text, and what stands there instead."""


def upgrade() -> None:
    """Add the tables, and their places in sweep and erasure."""
    _create_shadows()
    _create_results()
    for statement in GRANTS:
        op.execute(statement)
    for name, before, after in FUNCTIONS:
        _change_function(name, before, after)


def downgrade() -> None:
    """Take them back."""
    for name, before, after in FUNCTIONS:
        _change_function(name, after, before)
    op.drop_table("shadow_results")
    op.drop_table("shadows")


def _change_function(name: str, before: str, after: str) -> None:
    """Replace one part of a function's text; its rights stay."""
    connection = op.get_bind()
    query = sa.text("SELECT pg_get_functiondef(to_regproc(:name))")
    found = connection.execute(query, {"name": name}).scalar_one()
    if found.count(before) != 1:
        raise RuntimeError(f"{name}: expected one place with {before.strip()!r}, got {found.count(before)}")
    connection.exec_driver_sql(found.replace(before, after).replace("%", "%%"))


def _required(name: str, kind: Any, comment: str | None = None, **more: Any) -> "sa.Column[Any]":
    return sa.Column(name, kind, nullable=False, comment=comment, **more)


def _create_shadows() -> None:
    zero = sa.text("0")
    op.create_table(
        "shadows",
        _required("id", sa.Uuid(), "UUIDv7"),
        _required("user_id", sa.Text(), "the account"),
        _required("candidate_id", sa.Uuid()),
        _required("state", sa.Text(), "running, stopped or failed", server_default="running"),
        _required("started_by", sa.Text(), "login at that time"),
        _required("reason", sa.Text(), "why it was started"),
        _required("started_at", TIME),
        _required("usd_a_day", DOUBLE_PRECISION(), "for new answers; 0: nothing is asked"),
        _required("reached_at", TIME, "time of the last decision that was looked at"),
        _required("reached_id", sa.Uuid(), "its id"),
        _required("counts", JSONB(), "group -> decisions", server_default=sa.text("'{}'::jsonb")),
        _required("day", sa.Date(), "UTC, of the two figures that follow"),
        _required("day_decisions", sa.Integer(), server_default=zero),
        _required("day_usd", DOUBLE_PRECISION(), server_default=zero),
        _required("usd", DOUBLE_PRECISION(), "spent since the start", server_default=zero),
        sa.Column("ended_at", TIME),
        sa.Column("ended_by", sa.Text(), comment="login, or hushgate when it was switched off"),
        sa.Column("ended_why", sa.Text()),
        sa.CheckConstraint("state IN ('running', 'stopped', 'failed')", name=op.f("ck_shadows_state_known")),
        sa.CheckConstraint("(state = 'running') = (ended_at IS NULL)", name=op.f("ck_shadows_end_known")),
        sa.CheckConstraint("usd_a_day >= 0", name=op.f("ck_shadows_budget_range")),
        sa.ForeignKeyConstraint(
            ["candidate_id"],
            ["candidates.id"],
            name=op.f("fk_shadows_candidate_id_candidates"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shadows")),
        comment="candidates that decide every new event of an account again, without acting",
    )
    op.create_index("ix_shadows_account", "shadows", ["user_id", "id"])
    op.create_index(
        "ix_shadows_running",
        "shadows",
        ["candidate_id"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
    )


def _create_results() -> None:
    text = sa.Text()
    op.create_table(
        "shadow_results",
        _required("id", sa.Uuid(), "UUIDv7"),
        *(_required(name, sa.Uuid()) for name in ("shadow_id", "decision_id", "candidate_id")),
        *(_required(name, text) for name in ("user_id", "conversation_id", "author_id")),
        _required("decision_at", TIME, "of the decision"),
        _required("kind", text, "as worker.replay.difference.DifferenceKind"),
        _required("before_code", text, "reason code of the decision"),
        _required("decision", text, "the candidate's: respond, ignore or escalate"),
        _required("reason_code", text, "the candidate's"),
        _required("reason", text, "the candidate's, in one sentence"),
        sa.Column("matched_rule", text, comment="the candidate's"),
        sa.Column("reply", text, comment="the candidate's, where it differs; sealed"),
        _required("created_at", TIME, server_default=sa.text("now()")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shadow_results")),
        sa.UniqueConstraint("decision_id", "shadow_id", name=op.f("uq_shadow_results_decision_id_shadow_id")),
        comment="decisions that a shadow's candidate would have ended otherwise; sealed as recordings are",
    )
    op.create_index(
        "ix_shadow_results_candidate", "shadow_results", ["candidate_id", "decision_at", "decision_id"]
    )
