"""Indexes for the filters of the audit's pages; their cost: docs/decisions/0025-audit-indexes.md.

Law: as 0001; workers write meanwhile.
"""

from collections.abc import Sequence

from alembic import op

from db import partition_indexes

revision: str = "0005"
down_revision: str | Sequence[str] | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

MARKS = """
    CREATE OR REPLACE FUNCTION hushgate_marks(snapshot jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 2500 AS $$
        SELECT array_agg(mark) FROM (
            SELECT (stage->>'stage') || ':' || (stage->>'outcome') AS mark
            FROM jsonb_array_elements(snapshot->'stages') AS stage WHERE stage->>'outcome' <> 'passed'
            UNION ALL SELECT 'tier:' || (snapshot #>> '{assessment,tier}')
        ) AS marks WHERE mark IS NOT NULL
    $$
"""
INDEXES = {
    "reason": "(reason_code, created_at, id)",
    "account_reason": "(user_id, reason_code, created_at, id)",
    "rule": "(matched_rule text_pattern_ops, created_at, id) WHERE matched_rule IS NOT NULL",
    "author": "(author_id, created_at, id)",
    "degraded": "(created_at, id) WHERE degraded",
    "text": "USING gin (message_text gin_trgm_ops) WITH (gin_pending_list_limit = 256)",
    "marks": "USING gin (hushgate_marks(snapshot_json)) WITH (fastupdate = off)",
}


def upgrade() -> None:
    """Create the indexes."""
    op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    op.execute(MARKS)
    op.execute(
        "CREATE INDEX IF NOT EXISTS ix_queue_items_assigned_to ON queue_items (assigned_to)"
        " WHERE done_at IS NULL AND assigned_to IS NOT NULL"
    )
    partition_indexes.build_indexes(INDEXES)


def downgrade() -> None:
    """Drop the indexes; the extension stays, because others may use it."""
    partition_indexes.drop_indexes(INDEXES)
    op.execute("DROP INDEX ix_queue_items_assigned_to")
    op.execute("DROP FUNCTION hushgate_marks")
