"""What others need to verify the log without our database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC
from typing import Any, Final
from uuid import UUID

from compliance.audit_log.entries import LOGGED, canonical
from compliance.audit_log.merkle import proof, siblings, stored_parts
from compliance.audit_log.stored import (
    LEAF_COLUMNS,
    Leaf,
    StoredCheckpoint,
    leaf_batches,
    load_all_subjects,
    load_hashes,
    load_last_checkpoint,
    load_subjects,
    snapshot,
)
from db.connection import Connection
from db.pool import Pool
from db.rows import row_as

LEAF_OF: Final = f"SELECT {LEAF_COLUMNS} FROM audit_log_leaves WHERE subject_id = %s"


async def export_lines(source: Pool, account: str | None) -> AsyncIterator[dict[str, Any]]:
    """The newest checkpoint, then a line per leaf; with its row, unless it is of another account or erased.

    Nothing when the log is empty.
    """
    async with snapshot(source) as connection:
        last = await load_last_checkpoint(connection)
        if last is None:
            return
        yield _head(last)
        async for leaves in leaf_batches(connection, last.size):
            rows = await load_all_subjects(connection, leaves)
            for leaf in leaves:
                yield _line(leaf, rows[leaf.kind].get(leaf.subject_id), account)


async def inclusion_proof(source: Pool, subject: UUID) -> dict[str, Any] | None:
    """The proof that a decision or review is in the log: its leaf, the path and the newest checkpoint.

    None when it has no leaf yet.
    """
    async with snapshot(source) as connection:
        last = await load_last_checkpoint(connection)
        leaf = await row_as(connection, Leaf, LEAF_OF, (subject,))
        if last is None or leaf is None or leaf.position >= last.size:
            return None
        rows = await load_subjects(connection, leaf.kind, [leaf])
        path = await _path(connection, leaf.position, last.size)
        return _head(last) | _line(leaf, rows.get(subject), None) | {"proof": [each.hex() for each in path]}


async def _path(connection: Connection, position: int, size: int) -> tuple[bytes, ...]:
    ranges = siblings(position, size)
    parts = {part for start, end in ranges for part in stored_parts(start, end)}
    return proof(position, size, await load_hashes(connection, parts))


def _head(last: StoredCheckpoint) -> dict[str, Any]:
    return {"checkpoint": last.signed, "verifier_key": last.verifier_key}


def _line(leaf: Leaf, row: Mapping[str, Any] | None, account: str | None) -> dict[str, Any]:
    """A leaf; with its row, unless the row is of another account, deleted or, in part, erased."""
    line: dict[str, Any] = {"position": leaf.position, "kind": leaf.kind.value, "hash": leaf.hash.hex()}
    if row is None or leaf.kept_salt is None or account not in (None, row.get("user_id", account)):
        return line
    line |= {
        "id": str(leaf.subject_id),
        "at": leaf.subject_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "due_from": leaf.due_from.astimezone(UTC).isoformat(timespec="microseconds"),
        "erasable_hash": leaf.erasable_hash.hex(),
        "kept_salt": leaf.kept_salt.hex(),
        "kept": canonical(row, LOGGED[leaf.kind].kept),
    }
    if leaf.salt is not None:
        line |= {"salt": leaf.salt.hex(), "erasable": canonical(row, LOGGED[leaf.kind].erasable)}
    return line
