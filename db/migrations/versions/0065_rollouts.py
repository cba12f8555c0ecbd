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
down_revision: str | Sequence[str] | None = "0068"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
GRANTS = (
    "GRANT SELECT, INSERT ON rollouts, rollout_steps TO hushgate_reviewer, hushgate_worker",
    "GRANT UPDATE (state, share, stepped_at) ON rollouts TO hushgate_reviewer, hushgate_worker",
)


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


def downgrade() -> None:
    """Remove them."""
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
