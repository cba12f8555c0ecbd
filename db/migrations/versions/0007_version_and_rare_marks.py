"""Indexes for a version of the settings and for stages that rarely end so: docs/decisions/0601 has their price.

Law: as 0001; workers go on writing meanwhile.
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
    """Make them."""
    partition_indexes.build(INDEXES)


def downgrade() -> None:
    """Take them back."""
    partition_indexes.drop(INDEXES)
