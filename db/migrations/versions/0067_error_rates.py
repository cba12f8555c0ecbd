"""Thresholds that may move within declared bounds.

Law: as 0001. The previous release leaves the setting empty.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0067"
down_revision: str | Sequence[str] | None = "0065"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the column with its check."""
    op.add_column(
        "ai_rules",
        sa.Column(
            "adaptive_thresholds",
            JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="confidence or category:<name> -> bounds such as 0.60-0.95; empty: none moves",
        ),
    )
    op.create_check_constraint(
        op.f("ck_ai_rules_adaptive_thresholds_are_text"),
        "ai_rules",
        "jsonb_typeof(adaptive_thresholds) = 'object' AND NOT jsonb_path_exists(adaptive_thresholds,"
        " '$.* ? (@.type() <> \"string\")')",
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_column("ai_rules", "adaptive_thresholds")
