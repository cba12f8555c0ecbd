"""Rows that are erased on purpose: their salts go, and the removal becomes a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db.identifiers import uuid_at
from db.pool import PoolConnection
from db.transparency.entries import LeafKind

INSERT: Final = """
    INSERT INTO audit_log_removals (id, kind, reason, subjects) VALUES (%s, %s, 'erasure', %s)
"""
FORGET: Final = "UPDATE audit_log_leaves SET salt = NULL WHERE kind = %s AND subject_id = ANY(%s)"


async def forget_subjects(
    connection: PoolConnection, kind: LeafKind, subjects: Sequence[UUID], now: datetime
) -> None:
    """Record an erasure, in the transaction that erases the rows; their leaves keep their hashes."""
    if not subjects:
        return
    ids = Jsonb([str(each) for each in subjects])
    await connection.execute(INSERT, (uuid_at(now), kind, ids))
    await connection.execute(FORGET, (kind, list(subjects)))
