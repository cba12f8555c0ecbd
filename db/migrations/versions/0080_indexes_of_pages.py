"""Decisions with learning suggestions in order of time, of all accounts and of one; cancelled replies.

Law: as 0001. The previous release does not use the indexes.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from db import partition_indexes

revision: str = "0080"
down_revision: str | Sequence[str] | None = "0077"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TOPICS = (
    "coalesce(snapshot_json #> '{assessment,learning_suggestions}',"
    " snapshot_json #> '{assessment,diagnostics,learning_suggestions}')"
)
HAS_TOPICS = f"jsonb_typeof({TOPICS}) = 'array' AND {TOPICS} <> '[]'"
INDEXES = {
    "topics": f"(created_at, id, user_id, reason_code) WHERE {HAS_TOPICS}",
    "account_topics": f"(user_id, created_at, id, reason_code) WHERE {HAS_TOPICS}",
}
CANCELLED = "ix_outbox_cancelled"


def upgrade() -> None:
    """Add the indexes, while workers write."""
    partition_indexes.build_indexes(INDEXES)
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {CANCELLED}")  # left by an interrupted run
        op.create_index(
            CANCELLED,
            "outbox",
            ["user_id", "event_id"],
            postgresql_where=sa.text("cancelled_at IS NOT NULL"),
            postgresql_concurrently=True,
        )


def downgrade() -> None:
    """Take them back."""
    op.drop_index(CANCELLED, "outbox")
    partition_indexes.drop_indexes(INDEXES)
