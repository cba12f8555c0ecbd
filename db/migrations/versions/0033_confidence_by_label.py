"""Figures count the confidence of assessed drafts by label; the review server counts the hours again.

Law: as 0001. The previous release ignores the new kind. Days whose decisions retention has deleted have no mean.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0033"
down_revision: str | Sequence[str] | None = "0032"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

COMMENTS = (
    "confidence, total_ms, work_ms, waiting_ms, or policy and its name",
    "confidence, total_ms, work_ms, waiting_ms, or policy or label and its name",
)


def upgrade() -> None:
    """Describe the new kind and let each hour be counted again."""
    op.alter_column("figure_spreads", "kind", comment=COMMENTS[1])
    op.execute("""
        UPDATE figure_spans SET filled_at = start
        WHERE grain = 'hour' AND start >= (SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions)
    """)


def downgrade() -> None:
    """Remove the histograms by label."""
    op.execute("DELETE FROM figure_spreads WHERE starts_with(kind, 'label ')")
    op.alter_column("figure_spreads", "kind", comment=COMMENTS[0])
