"""Figures by rule, model and language; goals and notes of leads. The review server counts the hours again.

Law: as 0001. The previous release ignores the tables. Days whose decisions retention has deleted have no parts.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

revision: str = "0054"
down_revision: str | Sequence[str] | None = "0052"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
MEASURES = "blocked, escalated, failed, overturned or answered_in_time"


def upgrade() -> None:
    """Create the tables, and let each hour be counted again."""
    _create_parts()
    _create_goals()
    _create_notes()
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON figure_parts, figure_goals TO hushgate_reviewer")
    op.execute("GRANT SELECT, INSERT, DELETE ON figure_notes TO hushgate_reviewer")
    op.execute("""
        UPDATE figure_spans SET filled_at = start
        WHERE grain = 'hour' AND start >= (SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions)
    """)


def _create_parts() -> None:
    op.create_table(
        "figure_parts",
        sa.Column("grain", sa.Text(), nullable=False, comment="hour or day"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account; empty: all accounts"),
        sa.Column("start", TIME, nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Text(), nullable=False, comment="rule, model or language"),
        sa.Column(
            "value", sa.Text(), nullable=False, comment="never empty; a decision without one has no row"
        ),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("reason_code", sa.Text(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "grain", "user_id", "start", "scope", "dimension", "value", "decision", "reason_code",
            name=op.f("pk_figure_parts"),
        ),
        comment="decisions counted by matched rule, model and language, per span, account, scope, decision and reason",
    )  # fmt: skip
    op.create_index("ix_figure_parts_start", "figure_parts", ["grain", "start"], unique=False)


def _create_goals() -> None:
    op.create_table(
        "figure_goals",
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account; empty: all accounts together"),
        sa.Column("measure", sa.Text(), nullable=False, comment=MEASURES),
        sa.Column(
            "share",
            DOUBLE_PRECISION(),
            nullable=False,
            comment="0..1; at most, for answered_in_time at least",
        ),
        sa.Column(
            "within_min",
            sa.Integer(),
            nullable=True,
            comment="answered_in_time: minutes until an answer is late",
        ),
        sa.Column("set_by", sa.Text(), nullable=False, comment="login"),
        sa.Column("set_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("share BETWEEN 0 AND 1", name=op.f("ck_figure_goals_share_possible")),
        sa.CheckConstraint(
            "(measure = 'answered_in_time') = (within_min IS NOT NULL)",
            name=op.f("ck_figure_goals_time_limit"),
        ),
        sa.CheckConstraint("within_min BETWEEN 1 AND 10080", name=op.f("ck_figure_goals_time_limit_sane")),
        sa.PrimaryKeyConstraint("user_id", "measure", name=op.f("pk_figure_goals")),
        comment="goals that leads set for shares on the dashboard",
    )


def _create_notes() -> None:
    op.create_table(
        "figure_notes",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account; empty: all accounts"),
        sa.Column("at", TIME, nullable=False, comment="when it happened"),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False, comment="login"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("length(text) BETWEEN 1 AND 200", name=op.f("ck_figure_notes_text_length")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_figure_notes")),
        comment="incidents and other events that leads marked on the plots",
    )
    op.create_index("ix_figure_notes_at", "figure_notes", ["at"], unique=False)


def downgrade() -> None:
    """Drop the tables."""
    for name in ("figure_notes", "figure_goals", "figure_parts"):
        op.drop_table(name)
