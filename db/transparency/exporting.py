"""What others need to verify the log without our database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row

from db.pool import Pool, PoolConnection, checkout
from db.transparency.entries import COLUMNS, ROWS, LeafKind, canonical
from db.transparency.merkle import proof, siblings, stored_parts
from db.transparency.stored import (
    Leaf,
    StoredCheckpoint,
    load_hashes,
    load_last_checkpoint,
    load_removals,
    load_subjects,
)

BATCH: Final = 2000
LEAF_COLUMNS: Final = "position, kind, subject_id, subject_at, salt, hash"
BATCH_OF_LEAVES: Final = f"""
    SELECT {LEAF_COLUMNS} FROM audit_log_leaves WHERE position >= %s AND position < %s
    ORDER BY position LIMIT {BATCH}
"""
LEAF_OF: Final = f"SELECT {LEAF_COLUMNS} FROM audit_log_leaves WHERE subject_id = %s"
assert all("user_id" in columns for columns in COLUMNS.values())  # an export is limited by account


async def export_lines(source: Pool, account: str | None) -> AsyncIterator[dict[str, Any]]:
    """The newest checkpoint, then a line per leaf; with its row, unless it is of another account or erased.

    Nothing when the log is empty.
    """
    async with checkout(source) as connection:
        last = await load_last_checkpoint(connection)
        if last is None:
            return
        yield _head(last)
        removals = await load_removals(connection)
        start = 0
        while start < last.size:
            cursor = connection.cursor(row_factory=class_row(Leaf))
            leaves = await (await cursor.execute(BATCH_OF_LEAVES, (start, last.size))).fetchall()
            if not leaves:
                return
            rows = {kind: await load_subjects(connection, kind, leaves) for kind in ROWS}
            rows[LeafKind.REMOVAL] = removals
            for leaf in leaves:
                yield _line(leaf, rows[leaf.kind].get(leaf.subject_id), account)
            start = leaves[-1].position + 1


async def inclusion_proof(source: Pool, subject: UUID) -> dict[str, Any] | None:
    """The proof that a decision or review is in the log: its leaf, the path and the newest checkpoint.

    None when it has no leaf yet.
    """
    async with checkout(source) as connection:
        last = await load_last_checkpoint(connection)
        cursor = connection.cursor(row_factory=class_row(Leaf))
        leaf = await (await cursor.execute(LEAF_OF, (subject,))).fetchone()
        if last is None or leaf is None or leaf.position >= last.size:
            return None
        rows = await load_subjects(connection, leaf.kind, [leaf])
        path = await _path(connection, leaf.position, last.size)
        return _head(last) | _line(leaf, rows.get(subject), None) | {"proof": [each.hex() for each in path]}


async def _path(connection: PoolConnection, position: int, size: int) -> tuple[bytes, ...]:
    ranges = siblings(position, size)
    parts = {part for start, end in ranges for part in stored_parts(start, end)}
    return proof(position, size, await load_hashes(connection, parts))


def _head(last: StoredCheckpoint) -> dict[str, Any]:
    return {"checkpoint": last.signed, "verifier_key": last.verifier_key}


def _line(leaf: Leaf, row: Mapping[str, Any] | None, account: str | None) -> dict[str, Any]:
    line: dict[str, Any] = {"position": leaf.position, "kind": leaf.kind.value, "hash": leaf.hash.hex()}
    if row is not None and leaf.salt is not None and account in (None, row.get("user_id", account)):
        line |= {"salt": leaf.salt.hex(), "row": canonical(row)}
    return line
