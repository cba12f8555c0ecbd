"""Indexes for the filters of the audit's pages: docs/decisions/0601-indexes-of-the-audit.md has their price.

Law: as 0001. Workers go on writing meanwhile: each partition gets its index CONCURRENTLY, outside any
transaction, and the parent's index becomes valid when the last one is attached. A run that was broken off is
taken up where it stopped. A partition without rows needs none of that care.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

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
PARTITIONS = sa.text("""
    SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
    WHERE inhparent = 'ai_decisions'::regclass ORDER BY child.relname
""")
STATE = sa.text("""
    SELECT index.indisvalid, EXISTS (SELECT FROM pg_inherits WHERE inhrelid = index.indexrelid) AS attached
    FROM pg_index index WHERE index.indexrelid = to_regclass(:name)
""")


def upgrade() -> None:
    """Make them."""
    op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    op.execute(MARKS)
    for name, definition in INDEXES.items():
        op.execute(f"CREATE INDEX IF NOT EXISTS ix_ai_decisions_{name} ON ONLY ai_decisions {definition}")
    op.execute(
        "CREATE INDEX IF NOT EXISTS ix_queue_items_assigned_to ON queue_items (assigned_to)"
        " WHERE done_at IS NULL AND assigned_to IS NOT NULL"
    )
    with op.get_context().autocommit_block():
        for partition in op.get_bind().execute(PARTITIONS).scalars().all():
            for name, definition in INDEXES.items():
                _index(partition, name, definition)
        op.execute("ANALYZE ai_decisions")  # without, the planner knows nothing of how rare a mark is


def downgrade() -> None:
    """Take them back; the extension stays, as others may use it."""
    for name in INDEXES:
        op.execute(f"DROP INDEX ix_ai_decisions_{name}")
    op.execute("DROP INDEX ix_queue_items_assigned_to")
    op.execute("DROP FUNCTION hushgate_marks")


def _index(partition: str, name: str, definition: str) -> None:
    connection, own = op.get_bind(), f"ix_{partition}_{name}"
    state = connection.execute(STATE, {"name": own}).one_or_none()
    if state is not None and state.attached:
        return
    if state is not None and not state.indisvalid:  # left behind by a run that was broken off
        op.execute(f"DROP INDEX {own}")
        state = None
    if state is None:
        filled = connection.execute(sa.text(f"SELECT EXISTS (SELECT FROM {partition})")).scalar_one()  # noqa: S608  # names out of the catalogue
        op.execute(f"CREATE INDEX {'CONCURRENTLY' if filled else ''} {own} ON {partition} {definition}")
    op.execute(f"ALTER INDEX ix_ai_decisions_{name} ATTACH PARTITION {own}")
