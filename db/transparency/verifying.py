"""Compares the log with the tables, and its tree with every signed root."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row

from db.pool import Pool, PoolConnection, checkout
from db.transparency.checkpoints import CheckpointRejected, read_checkpoint
from db.transparency.entries import ROWS, LeafKind, canonical, salted_leaf_hash
from db.transparency.merkle import root_of
from db.transparency.stored import Leaf, StoredCheckpoint, load_removals, load_subjects

BATCH: Final = 2000
UNLOGGED_AFTER: Final = timedelta(days=1)
"""A row without a leaf after so long was never appended; younger ones may wait for a run."""
LEAVES: Final = """
    SELECT position, kind, subject_id, subject_at, salt, hash FROM audit_log_leaves
    WHERE position >= %s ORDER BY position LIMIT %s
"""
CHECKPOINTS: Final = "SELECT size, signed, verifier_key, through FROM audit_log_checkpoints ORDER BY size"
UNLOGGED: Final = """
    SELECT id FROM {table} AS row WHERE created_at < %s
        AND NOT EXISTS (SELECT FROM audit_log_leaves WHERE kind = %s AND subject_id = row.id)
    ORDER BY created_at LIMIT %s
"""
MOST_UNLOGGED: Final = 1000


class LogProblem(StrEnum):
    """What is wrong; the words of the command's output."""

    ROW_CHANGED = "row changed"
    ROW_MISSING = "row missing"
    ROW_UNLOGGED = "row without a leaf"
    LEAF_MISSING = "leaf missing"
    SALT_MISSING = "salt missing"
    CHECKPOINT_WRONG = "checkpoint wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrepancy:
    """One thing that is wrong; ``subject`` is the id of a row, or empty."""

    problem: LogProblem
    subject: str
    detail: str


@dataclass(slots=True, kw_only=True)
class Verification:
    """The result: how much was compared and what is wrong."""

    leaves: int = 0
    compared: int = 0
    removed: int = 0
    checkpoints: int = 0
    problems: list[Discrepancy] = field(default_factory=list)

    def report(self, problem: LogProblem, subject: object, detail: str) -> None:
        """Add a problem."""
        self.problems.append(Discrepancy(problem=problem, subject=str(subject), detail=detail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was removed on purpose, after the log itself."""

    before: Mapping[str, datetime]
    subjects: frozenset[tuple[str, str]]

    def covers(self, leaf: Leaf) -> bool:
        """True when the leaf's row was removed by retention or erasure."""
        before = self.before.get(leaf.kind)
        return (leaf.kind, str(leaf.subject_id)) in self.subjects or (
            before is not None and leaf.subject_at < before
        )


async def verify(
    source: Pool,
    verifier_keys: frozenset[str],
    now: datetime,
    witness: tuple[str, str] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Verification:
    """Compare everything.

    Args:
        source: with the login of the review pages.
        now: decides which rows without a leaf are too old.
        verifier_keys: the keys that may have signed; a checkpoint of another key is wrong.
        witness: a checkpoint kept elsewhere and its key; the log must still contain it.
        progress: called with the number of leaves read so far.

    Raises:
        StorageUnavailable: Postgres is unreachable.
    """
    result = Verification()
    async with checkout(source) as connection:
        roots = await _signed_roots(connection, verifier_keys, witness, result)
        removals = await load_removals(connection)
        removed = _removed(removals.values())
        tree: list[tuple[int, bytes]] = []
        async for leaves in _batches(connection):
            rows = {kind: await load_subjects(connection, kind, leaves) for kind in ROWS}
            rows[LeafKind.REMOVAL] = removals
            for leaf in leaves:
                _check_leaf(leaf, rows[leaf.kind].get(leaf.subject_id), removed, result)
                _push(tree, leaf.hash)
                result.leaves = leaf.position + 1
                _check_roots(result.leaves, tree, roots, result)
            progress(result.leaves)
        for size in sorted(roots):
            result.report(
                LogProblem.LEAF_MISSING, "", f"a root of {size} leaves was signed, {result.leaves} exist"
            )
        await _check_unlogged(connection, now, result)
    return result


async def _signed_roots(
    connection: PoolConnection,
    verifier_keys: frozenset[str],
    witness: tuple[str, str] | None,
    result: Verification,
) -> dict[int, list[bytes]]:
    """Roots by size from checkpoints with a valid signature."""
    cursor = connection.cursor(row_factory=class_row(StoredCheckpoint))
    stored = await (await cursor.execute(CHECKPOINTS)).fetchall()
    texts = [(each.signed, each.verifier_key) for each in stored]
    roots: dict[int, list[bytes]] = {}
    for text, verifier_key in [*texts, *([witness] if witness else [])]:
        if verifier_key not in verifier_keys:
            result.report(LogProblem.CHECKPOINT_WRONG, "", f"the key {verifier_key} is none of the log's")
            continue
        try:
            checkpoint = read_checkpoint(text, verifier_key)
        except CheckpointRejected as error:
            result.report(LogProblem.CHECKPOINT_WRONG, "", str(error))
            continue
        result.checkpoints += 1
        if checkpoint.size:
            roots.setdefault(checkpoint.size, []).append(checkpoint.root)
    return roots


async def _batches(connection: PoolConnection) -> AsyncIterator[list[Leaf]]:
    start = 0
    while True:
        cursor = connection.cursor(row_factory=class_row(Leaf))
        leaves = await (await cursor.execute(LEAVES, (start, BATCH))).fetchall()
        if not leaves:
            return
        yield leaves
        start = leaves[-1].position + 1


def _check_leaf(leaf: Leaf, row: Mapping[str, Any] | None, removed: Removed, result: Verification) -> None:
    if leaf.position != result.leaves:
        result.report(LogProblem.LEAF_MISSING, "", f"positions {result.leaves} to {leaf.position - 1}")
    if (row is None or leaf.salt is None) and removed.covers(leaf):
        result.removed += 1
    elif row is None:
        result.report(LogProblem.ROW_MISSING, leaf.subject_id, f"{leaf.kind} at position {leaf.position}")
    elif leaf.salt is None:
        result.report(LogProblem.SALT_MISSING, leaf.subject_id, f"{leaf.kind} at position {leaf.position}")
    elif salted_leaf_hash(leaf.kind, leaf.salt, canonical(row)) != leaf.hash:
        result.report(LogProblem.ROW_CHANGED, leaf.subject_id, f"{leaf.kind} at position {leaf.position}")
    else:
        result.compared += 1


def _push(tree: list[tuple[int, bytes]], leaf: bytes) -> None:
    """Add a leaf to neighbouring complete subtrees, merging those of equal height."""
    height = 0
    while tree and tree[-1][0] == height:
        leaf, height = root_of([tree.pop(), (height, leaf)]), height + 1
    tree.append((height, leaf))


def _check_roots(
    size: int, tree: list[tuple[int, bytes]], roots: dict[int, list[bytes]], result: Verification
) -> None:
    for root in roots.pop(size, []):
        if root != root_of(tree):
            result.report(LogProblem.CHECKPOINT_WRONG, "", f"the tree of {size} leaves has another root")


def _removed(rows: Any) -> Removed:
    before: dict[str, datetime] = {}
    subjects: set[tuple[str, str]] = set()
    for row in rows:
        if row["before"] is not None:
            before[row["kind"]] = max(row["before"], before.get(row["kind"], row["before"]))
        subjects |= {(row["kind"], each) for each in row["subjects"] or ()}
    return Removed(before=before, subjects=frozenset(subjects))


async def _check_unlogged(connection: PoolConnection, now: datetime, result: Verification) -> None:
    for kind, table in ROWS.items():
        values = (now - UNLOGGED_AFTER, kind, MOST_UNLOGGED)
        ids: list[tuple[UUID]] = await (
            await connection.execute(UNLOGGED.format(table=table), values)
        ).fetchall()
        for (subject,) in ids:
            result.report(LogProblem.ROW_UNLOGGED, subject, f"{kind}, older than a day")
