"""Open escalations in the order in which they are listed.

Law: as 0001. The previous release does not use the index.
"""

# expand-only: CREATE INDEX keeps writers of escalations waiting while it reads that table, which is small

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0075"
down_revision: str | Sequence[str] | None = "0074"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the index."""
    op.create_index(
        "ix_escalations_waiting",
        "escalations",
        ["opened_at", "decision_id"],
        postgresql_where=sa.text("closed_at IS NULL"),
    )


def downgrade() -> None:
    """Take it back."""
    op.drop_index("ix_escalations_waiting", table_name="escalations")
