"""Suggestions of each account.

Law: as 0001. The previous release ignores the table.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0072"
down_revision: str | Sequence[str] | None = "0070"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "learning_suggestions",
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column("begun_at", TIME, nullable=False, comment="when a server began to compute them"),
        sa.Column("computed_at", TIME, comment="null: not yet"),
        sa.Column(
            "material",
            JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="how much they were computed from",
        ),
        sa.Column(
            "found",
            JSONB(),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
            comment="evidence, edits and ids of decisions; words of at least two authors, no messages",
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_learning_suggestions")),
        comment="what decisions and reviews suggest to change, one row per account, computed once a day",
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON learning_suggestions TO hushgate_reviewer")


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("learning_suggestions")
