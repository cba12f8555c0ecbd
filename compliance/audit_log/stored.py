"""Reads of the stored tree."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg import IsolationLevel

from compliance.audit_log.entries import LOGGED, LeafKind, hash_of_leaf
from compliance.audit_log.merkle import Hashes, Subtree
from db.connection import Connection
from db.pool import Pool, checkout
from db.rows import all_rows, row_as, rows_as

LEAF_COLUMNS: Final = (
    "position, kind, subject_id, subject_at, due_from, salt, kept_salt, kept_hash, erasable_hash, hash"
)
"""The fields of ``Leaf``, in its order."""
LEAVES: Final = f"""
    SELECT {LEAF_COLUMNS} FROM audit_log_leaves WHERE position >= %s AND (%s::bigint IS NULL OR position < %s)
    ORDER BY position LIMIT %s
"""
BATCH: Final = 2000
HASHES: Final = "SELECT position, hash FROM audit_log_leaves WHERE position = ANY(%s)"
NODES: Final = "SELECT position, hash FROM audit_log_nodes WHERE height = %s AND position = ANY(%s)"
SIZE: Final = "SELECT coalesce(max(position) + 1, 0) FROM audit_log_leaves"
"""How many leaves the log has."""
LAST: Final = """
    SELECT size, signed, verifier_key, through FROM audit_log_checkpoints ORDER BY size DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A stored leaf.

    Attributes:
        due_from: the time that retention counts from.
        salt: of the erasable part; None: an erasure emptied it, or the row was deleted.
        kept_salt: of the kept part; None: the row was deleted.
    """

    position: int
    kind: LeafKind
    subject_id: UUID
    subject_at: datetime
    due_from: datetime
    salt: bytes | None
    kept_salt: bytes | None
    kept_hash: bytes
    erasable_hash: bytes
    hash: bytes

    def is_sound(self) -> bool:
        """Whether its columns lead to its hash, which the signed root covers."""
        about = (self.kind, self.subject_id, self.subject_at, self.due_from)
        return hash_of_leaf(*about, self.kept_hash, self.erasable_hash) == self.hash


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCheckpoint:
    """A signed root; rows created before ``through`` had been looked for."""

    size: int
    signed: str
    verifier_key: str
    through: datetime


@asynccontextmanager
async def snapshot(source: Pool) -> AsyncIterator[Connection]:
    """A connection whose statements all see the same moment, and change nothing."""
    async with checkout(source) as connection:
        await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        await connection.set_read_only(True)
        try:
            async with connection.transaction():
                yield connection
        finally:
            await connection.set_isolation_level(None)
            await connection.set_read_only(None)


async def load_last_checkpoint(connection: Connection) -> StoredCheckpoint | None:
    """The newest signed root; None in a new log."""
    return await row_as(connection, StoredCheckpoint, LAST)


async def load_hashes(connection: Connection, parts: Iterable[Subtree]) -> dict[Subtree, bytes]:
    """The stored hashes of these subtrees, without subtrees that are not stored."""
    wanted: dict[int, list[int]] = {}
    for part in parts:
        wanted.setdefault(part.height, []).append(part.position)
    found: dict[Subtree, bytes] = {}
    for height, positions in wanted.items():
        query, values = (HASHES, (positions,)) if height == 0 else (NODES, (height, positions))
        rows = await (await connection.execute(query, values)).fetchall()
        found |= {Subtree(height, position): bytes(digest) for position, digest in rows}
    return found


async def leaf_batches(connection: Connection, end: int | None = None) -> AsyncIterator[Sequence[Leaf]]:
    """The leaves in order, up to the position before ``end``, at most ``BATCH`` at a time."""
    start = 0
    while leaves := await rows_as(connection, Leaf, LEAVES, (start, end, end, BATCH)):
        yield leaves
        start = leaves[-1].position + 1


async def load_subjects(
    connection: Connection, kind: LeafKind, leaves: Iterable[Leaf]
) -> Mapping[UUID, dict[str, Any]]:
    """The rows that these leaves are about, by id; a deleted one is missing."""
    chosen = [leaf for leaf in leaves if leaf.kind is kind]
    if not chosen:
        return {}
    times, logged = [leaf.subject_at for leaf in chosen], LOGGED[kind]
    query = f"SELECT {logged.columns} FROM {logged.table} WHERE created_at BETWEEN %s AND %s AND id = ANY(%s)"
    values = min(times), max(times), [leaf.subject_id for leaf in chosen]
    return {row["id"]: row for row in await all_rows(connection, query, values)}


async def load_all_subjects(
    connection: Connection, leaves: Iterable[Leaf]
) -> Mapping[LeafKind, Mapping[UUID, dict[str, Any]]]:
    """The rows of every kind."""
    found = list(leaves)
    return {kind: await load_subjects(connection, kind, found) for kind in LeafKind}


def missing_hashes(parts: Iterable[Subtree], hashes: Hashes) -> tuple[Subtree, ...]:
    """The subtrees that should be stored and are not."""
    return tuple(part for part in parts if part not in hashes)
