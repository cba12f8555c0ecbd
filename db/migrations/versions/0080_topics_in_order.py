"""Decisions with learning suggestions in order of time, of all accounts and of one.

Law: as 0001. The previous release does not use the indexes.
"""

from collections.abc import Sequence

from db import partition_indexes

revision: str = "0080"
down_revision: str | Sequence[str] | None = "0076"
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


def upgrade() -> None:
    """Add the indexes."""
    partition_indexes.build_indexes(INDEXES)


def downgrade() -> None:
    """Take them back."""
    partition_indexes.drop_indexes(INDEXES)
