"""Reads of the stored tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row, dict_row

from db.pool import PoolConnection
from db.transparency.entries import COLUMNS, ROWS, LeafKind
from db.transparency.merkle import Hashes, Subtree

LEAVES: Final = "SELECT position, hash FROM audit_log_leaves WHERE position = ANY(%s)"
NODES: Final = "SELECT position, hash FROM audit_log_nodes WHERE height = %s AND position = ANY(%s)"
SIZE: Final = "SELECT coalesce(max(position) + 1, 0) FROM audit_log_leaves"
LAST: Final = """
    SELECT size, signed, verifier_key, through FROM audit_log_checkpoints ORDER BY size DESC LIMIT 1
"""
REMOVALS: Final = "SELECT id, kind, reason, before, subjects, created_at FROM audit_log_removals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A stored leaf; ``salt`` is None when its row was erased."""

    position: int
    kind: LeafKind
    subject_id: UUID
    subject_at: datetime
    salt: bytes | None
    hash: bytes

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", LeafKind(self.kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCheckpoint:
    """A signed root; rows created before ``through`` had been looked for."""

    size: int
    signed: str
    verifier_key: str
    through: datetime


async def load_size(connection: PoolConnection) -> int:
    """How many leaves the log has."""
    row = await (await connection.execute(SIZE)).fetchone()
    assert row is not None  # an aggregate always has a row
    return int(row[0])


async def load_last_checkpoint(connection: PoolConnection) -> StoredCheckpoint | None:
    """The newest signed root; None in a new log."""
    return await (await connection.cursor(row_factory=class_row(StoredCheckpoint)).execute(LAST)).fetchone()


async def load_hashes(connection: PoolConnection, parts: Iterable[Subtree]) -> dict[Subtree, bytes]:
    """The stored hashes of these subtrees; one that is not stored is left out."""
    wanted: dict[int, list[int]] = {}
    for part in parts:
        wanted.setdefault(part.height, []).append(part.position)
    found: dict[Subtree, bytes] = {}
    for height, positions in wanted.items():
        query = (LEAVES, (positions,)) if height == 0 else (NODES, (height, positions))
        rows = await (await connection.execute(*query)).fetchall()
        found |= {Subtree(height, position): bytes(digest) for position, digest in rows}
    return found


async def load_subjects(
    connection: PoolConnection, kind: LeafKind, leaves: Iterable[Leaf]
) -> Mapping[UUID, dict[str, Any]]:
    """The rows that these leaves are about, by id; a deleted one is missing."""
    chosen = [leaf for leaf in leaves if leaf.kind is kind]
    if not chosen:
        return {}
    times = [leaf.subject_at for leaf in chosen]
    query = f"SELECT {COLUMNS[kind]} FROM {ROWS[kind]} WHERE created_at BETWEEN %s AND %s AND id = ANY(%s)"
    cursor = connection.cursor(row_factory=dict_row)
    ids = [leaf.subject_id for leaf in chosen]
    return {row["id"]: row async for row in await cursor.execute(query, (min(times), max(times), ids))}


async def load_removals(connection: PoolConnection) -> dict[UUID, dict[str, Any]]:
    """Every deliberate removal, by id."""
    cursor = connection.cursor(row_factory=dict_row)
    return {row["id"]: row async for row in await cursor.execute(REMOVALS)}


def missing_hashes(parts: Iterable[Subtree], hashes: Hashes) -> tuple[Subtree, ...]:
    """The subtrees that should be stored and are not."""
    return tuple(part for part in parts if part not in hashes)
