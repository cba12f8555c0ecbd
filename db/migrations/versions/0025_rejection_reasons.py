"""Why a policy rejected a draft, as a column that figures and filters read.

Law: as 0001. The column is nullable: the previous release continues to work, and its decisions have no value. The
audit is append-only, so older decisions are not filled in.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from db import partition_indexes

revision: str = "0025"
down_revision: str | Sequence[str] | None = "0024"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

INDEXES = {
    "rejection": "(created_at, id, user_id, scope, rejection_reason) WHERE rejection_reason IS NOT NULL",
}


def upgrade() -> None:
    """Add the column and its index."""
    op.add_column(
        "ai_decisions",
        sa.Column(
            "rejection_reason", sa.Text(), comment="why the policy rejected the draft, also in test mode"
        ),
        if_not_exists=True,
    )
    partition_indexes.build_indexes(INDEXES)


def downgrade() -> None:
    """Drop both."""
    partition_indexes.drop_indexes(INDEXES)
    op.drop_column("ai_decisions", "rejection_reason")
