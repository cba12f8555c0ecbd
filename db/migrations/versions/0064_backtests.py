"""Backtests of candidates.

Law: as 0001. The previous release ignores the table.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0064"
down_revision: str | Sequence[str] | None = "0063"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "backtests",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column("base_version", sa.Integer(), nullable=False, comment="of ai_rules"),
        sa.Column("changes", JSONB(), nullable=False, comment="setting -> value"),
        sa.Column("since", TIME, nullable=False),
        sa.Column("until", TIME, nullable=False),
        sa.Column("total", sa.Integer(), nullable=False, comment="decisions in the range"),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("position", sa.Uuid(), comment="the last decision that was counted"),
        sa.Column("counts", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column(
            "examples",
            JSONB(),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
            comment="ids and reasons, without texts",
        ),
        sa.Column("created_by", sa.Text(), nullable=False, comment="login at that time"),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_backtests")),
        comment="decisions made again with changed settings",
    )
    op.create_index("ix_backtests_account", "backtests", ["user_id", "id"])
    op.execute("GRANT SELECT, INSERT, UPDATE ON backtests TO hushgate_reviewer, hushgate_worker")


def downgrade() -> None:
    """Drop it."""
    op.drop_table("backtests")
