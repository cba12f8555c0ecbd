"""Indexes on ``ai_decisions``, built while workers write; for migrations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa
from alembic import op

PARTITIONS: Final = sa.text("""
    SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
    WHERE inhparent = 'ai_decisions'::regclass ORDER BY child.relname
""")
STATE: Final = sa.text("""
    SELECT index.indisvalid, EXISTS (SELECT FROM pg_inherits WHERE inhrelid = index.indexrelid) AS attached
    FROM pg_index index WHERE index.indexrelid = to_regclass(:name)
""")


def build_indexes(indexes: Mapping[str, str]) -> None:
    """Create indexes, name -> definition, within a running migration.

    Each partition gets its index CONCURRENTLY, outside any transaction, and the parent's index becomes valid
    when the last one is attached. An interrupted run is continued where it stopped. The index of an empty
    partition is built in the ordinary way.
    """
    for name, definition in indexes.items():
        op.execute(f"CREATE INDEX IF NOT EXISTS ix_ai_decisions_{name} ON ONLY ai_decisions {definition}")
    with op.get_context().autocommit_block():
        for partition in op.get_bind().execute(PARTITIONS).scalars().all():
            for name, definition in indexes.items():
                _on_partition(partition, name, definition)
        op.execute("ANALYZE ai_decisions")  # without it the planner has no statistics of expressions


def drop_indexes(indexes: Mapping[str, str]) -> None:
    """Drop the indexes from every partition."""
    for name in indexes:
        op.execute(f"DROP INDEX ix_ai_decisions_{name}")


def _on_partition(partition: str, name: str, definition: str) -> None:
    connection, own = op.get_bind(), f"ix_{partition}_{name}"
    state = connection.execute(STATE, {"name": own}).one_or_none()
    if state is not None and state.attached:
        return
    if state is not None and not state.indisvalid:  # left by an interrupted run
        op.execute(f"DROP INDEX {own}")
        state = None
    if state is None:
        filled = connection.execute(sa.text(f"SELECT EXISTS (SELECT FROM {partition})")).scalar_one()
        op.execute(f"CREATE INDEX {'CONCURRENTLY' if filled else ''} {own} ON {partition} {definition}")
    op.execute(f"ALTER INDEX ix_ai_decisions_{name} ATTACH PARTITION {own}")
