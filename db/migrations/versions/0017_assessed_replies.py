"""Figures count the confidence of assessed drafts only; the review server counts them again.

Law: as 0001. A default that is a constant rewrites no row. Until an hour is counted again it shows no confidence;
days whose decisions retention has deleted cannot be counted again and show none from now on.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | Sequence[str] | None = "0016"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the count, clear the sums over all decisions, and let each hour be counted again."""
    op.add_column(
        "figure_counts",
        sa.Column(
            "assessed",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="with a measured draft",
        ),
    )
    op.alter_column("figure_counts", "confidence_sum", comment="of the assessed")
    op.execute("UPDATE figure_counts SET confidence_sum = 0")
    op.execute("DELETE FROM figure_spreads WHERE kind = 'confidence'")
    op.execute("""
        UPDATE figure_spans SET filled_at = start
        WHERE grain = 'hour' AND start >= (SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions)
    """)


def downgrade() -> None:
    """Remove the count; the sums stay those of the assessed drafts."""
    op.alter_column("figure_counts", "confidence_sum", comment=None)
    op.drop_column("figure_counts", "assessed")
