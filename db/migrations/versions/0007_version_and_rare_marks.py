"""Indexes for a version of the settings and for rare stage outcomes; cost: docs/decisions/0025-audit-indexes.md.

Law: as 0001; workers write meanwhile.
"""

from collections.abc import Sequence

from db import partition_indexes

revision: str = "0007"
down_revision: str | Sequence[str] | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

RARE = (
    "jsonb_path_exists(snapshot_json, '$.stages[*] ? ("
    """@.outcome == "failed" || @.outcome == "skipped" || @.outcome == "flagged\""""
    """ && (@.stage starts with "moderation" || @.stage == "rules_reply"))'::jsonpath)"""
)
INDEXES = {
    "version": "(user_id, ((snapshot_json ->> 'rules_version')::integer), created_at, id)",
    "rare": f"(created_at, id) WHERE {RARE}",
}


def upgrade() -> None:
    """Create the indexes."""
    partition_indexes.build_indexes(INDEXES)


def downgrade() -> None:
    """Drop the indexes."""
    partition_indexes.drop_indexes(INDEXES)
