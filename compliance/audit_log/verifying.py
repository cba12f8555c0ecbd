"""Compares the log with the tables, and its tree with every signed root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from psycopg import DataError

from compliance.audit_log.checkpoints import Checkpoint, CheckpointRejected, read_checkpoint
from compliance.audit_log.entries import LOGGED, canonical, is_tombstone, salted_hash
from compliance.audit_log.merkle import root_of
from compliance.audit_log.removals import Removal, Removals, RetentionLimit, load_removals
from compliance.audit_log.stored import (
    Leaf,
    StoredCheckpoint,
    leaf_batches,
    load_all_subjects,
    snapshot,
)
from db.connection import Connection
from db.pool import Pool
from db.rows import all_rows, rows_as

UNLOGGED_AFTER: Final = timedelta(days=1)
"""A row without a leaf after so long was never appended; younger ones may wait for a run."""
CHECKPOINTS: Final = "SELECT size, signed, verifier_key, through FROM audit_log_checkpoints ORDER BY size"
UNLOGGED: Final = """
    SELECT id FROM {table} AS row WHERE created_at < %s AND {where}
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
    LEAF_CHANGED = "leaf changed"
    REMOVAL_UNPROVEN = "removal not proven"
    CHECKPOINT_WRONG = "checkpoint wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrepancy:
    """One thing that is wrong; ``subject`` is the id of a row, or empty."""

    problem: LogProblem
    subject: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Public keys.

    Attributes:
        log: verifier keys of the log; a checkpoint of another key is wrong.
        receipts: of receipts of erasures, 32 bytes each.
    """

    log: frozenset[str]
    receipts: tuple[bytes, ...] = ()


@dataclass(slots=True, kw_only=True)
class Verification:
    """The result: how much was compared and what is wrong.

    Attributes:
        deleted: rows that retention deleted.
        emptied: rows that an erasure emptied; what it keeps of them was compared.
        under_way: of these, rows whose erasure or receipt has not ended.
        checked_from: size of the checkpoint that ``recent`` and ``limits`` begin at.
        recent: removals since that checkpoint.
        limits: retention limits that were stored since that checkpoint.
    """

    leaves: int = 0
    compared: int = 0
    deleted: int = 0
    emptied: int = 0
    under_way: int = 0
    checkpoints: int = 0
    checked_from: int = 0
    recent: tuple[Removal, ...] = ()
    limits: tuple[RetentionLimit, ...] = ()
    problems: list[Discrepancy] = field(default_factory=list)

    def report(self, problem: LogProblem, subject: object, detail: str) -> None:
        """Add a problem."""
        self.problems.append(Discrepancy(problem=problem, subject=str(subject), detail=detail))


async def verify(
    source: Pool,
    keys: Keys,
    now: datetime,
    witness: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Verification:
    """Compare log, tables and roots at one moment.

    Args:
        source: with the login of the log or that of the review pages.
        keys: the keys that may have signed.
        now: decides which rows without a leaf are too old, and which erasures.
        witness: a checkpoint kept elsewhere; the log must still contain it.
        progress: called with the number of leaves read so far.

    Raises:
        StorageUnavailable: Postgres is unreachable.
    """
    result = Verification()
    try:
        async with snapshot(source) as connection:
            await _compare(connection, keys, now, witness, progress, result)
    except DataError as error:  # a time such as infinity, which no row of ours has
        result.report(LogProblem.ROW_CHANGED, "", f"a value that cannot be read: {error}")
    return result


async def _compare(
    connection: Connection,
    keys: Keys,
    now: datetime,
    witness: str | None,
    progress: Callable[[int], None],
    result: Verification,
) -> None:
    roots = await _signed_roots(connection, keys.log, witness, result)
    signed = max(roots, default=0)
    removals = await load_removals(connection, keys.receipts, now)
    _report_removals(removals, result)
    tree: list[tuple[int, bytes]] = []
    async for leaves in leaf_batches(connection):
        rows = await load_all_subjects(connection, leaves)
        for leaf in leaves:
            _check_leaf(leaf, rows[leaf.kind].get(leaf.subject_id), removals, result)
            _push(tree, leaf.hash)
            result.leaves = leaf.position + 1
            _check_roots(result.leaves, tree, roots, result)
        progress(result.leaves)
    if result.leaves > signed:
        result.report(LogProblem.CHECKPOINT_WRONG, "", f"no signed root of {result.leaves} leaves was found")
    for size in sorted(roots):
        result.report(
            LogProblem.LEAF_MISSING, "", f"a root of {size} leaves was signed, {result.leaves} exist"
        )
    await _check_unlogged(connection, now, result)


def _report_removals(removals: Removals, result: Verification) -> None:
    for removal, why in removals.unproven:
        result.report(LogProblem.REMOVAL_UNPROVEN, removal.id, f"{removal.reason}: {why}")

    def is_recent(row: Removal | RetentionLimit) -> bool:
        return row.position is None or row.position >= result.checked_from

    result.under_way = removals.under_way
    result.recent = tuple(filter(is_recent, removals.stored))
    result.limits = tuple(filter(is_recent, removals.limits))


async def _signed_roots(
    connection: Connection, keys: frozenset[str], witness: str | None, result: Verification
) -> dict[int, list[bytes]]:
    """Roots by size from checkpoints with a valid signature."""
    stored = await rows_as(connection, StoredCheckpoint, CHECKPOINTS)
    roots: dict[int, list[bytes]] = {}
    for text in [*(each.signed for each in stored), *([witness] if witness is not None else [])]:
        try:
            checkpoint = _signed_by_one(text, keys)
        except CheckpointRejected as error:
            result.report(LogProblem.CHECKPOINT_WRONG, "", str(error))
            continue
        result.checkpoints += 1
        result.checked_from = checkpoint.size
        if checkpoint.size:
            roots.setdefault(checkpoint.size, []).append(checkpoint.root)
    return roots


def _signed_by_one(text: str, keys: frozenset[str]) -> Checkpoint:
    """The checkpoint; the column of its key is not believed."""
    rejected = CheckpointRejected("checkpoint: expected a key to verify it with, got none")
    for key in sorted(keys):
        try:
            return read_checkpoint(text, key)
        except CheckpointRejected as error:
            rejected = error
    raise rejected


def _check_leaf(leaf: Leaf, row: Mapping[str, Any] | None, removals: Removals, result: Verification) -> None:
    if leaf.position != result.leaves:
        result.report(LogProblem.LEAF_MISSING, "", f"positions {result.leaves} to {leaf.position - 1}")
    problem = _problem_of(leaf, row, removals)
    if problem is not None:
        result.report(problem, leaf.subject_id, f"{leaf.kind} at position {leaf.position}")
    elif row is None:
        result.deleted += 1
    elif leaf.salt is None:
        result.emptied += 1
    else:
        result.compared += 1


def _problem_of(leaf: Leaf, row: Mapping[str, Any] | None, removals: Removals) -> LogProblem | None:
    """What is wrong with a leaf and its row; a row that is there is compared before a removal is believed."""
    if not leaf.is_sound():
        return LogProblem.LEAF_CHANGED
    if row is None:
        return None if removals.may_be_missing(leaf) else LogProblem.ROW_MISSING
    if leaf.kept_salt is None:
        return LogProblem.SALT_MISSING
    logged = LOGGED[leaf.kind]
    if salted_hash(leaf.kept_salt, canonical(row, logged.kept)) != leaf.kept_hash:
        return LogProblem.ROW_CHANGED
    if leaf.salt is not None:
        same = salted_hash(leaf.salt, canonical(row, logged.erasable)) == leaf.erasable_hash
        return None if same else LogProblem.ROW_CHANGED
    emptied = is_tombstone(leaf.kind, row) and removals.may_be_empty(leaf)
    return None if emptied else LogProblem.SALT_MISSING


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


async def _check_unlogged(connection: Connection, now: datetime, result: Verification) -> None:
    for kind, logged in LOGGED.items():
        values = (now - UNLOGGED_AFTER, kind, MOST_UNLOGGED)
        query = UNLOGGED.format(table=logged.table, where=logged.where)
        for row in await all_rows(connection, query, values):
            result.report(LogProblem.ROW_UNLOGGED, row["id"], f"{kind}, older than a day")
