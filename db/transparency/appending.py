"""Appends what is new to the log and signs its root; no worker waits for it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from psycopg.rows import dict_row

from db.identifiers import EPOCH, uuid_at
from db.pool import Pool, PoolConnection, checkout
from db.transparency.checkpoints import Checkpoint, CheckpointRejected, Signer, read_checkpoint
from db.transparency.entries import COLUMNS, ROWS, SALT_BYTES, LeafKind, canonical, salted_leaf_hash
from db.transparency.merkle import Subtree, completed, node_hash, root_hash, stored_parts
from db.transparency.stored import (
    REMOVALS,
    StoredCheckpoint,
    load_hashes,
    load_last_checkpoint,
    load_size,
    missing_hashes,
)
from worker.errors import HushgateError

BATCH: Final = 2000
LATE: Final = timedelta(minutes=3)
"""How long after its ``created_at`` a row may be committed and still be seen by the next run."""
DAILY_LATE: Final = timedelta(days=3)
"""The same for the first run of a day: Postgres may have been down for a weekend."""

LOCK: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('hushgate transparency log', 0))"
PAGE: Final = """
    SELECT id, created_at FROM {table} WHERE (created_at, id) > (%s, %s) AND created_at <= %s
    ORDER BY created_at, id LIMIT %s
"""
LOGGED: Final = "SELECT subject_id FROM audit_log_leaves WHERE kind = %s AND subject_id = ANY(%s)"
"""Two statements, because a planner without statistics of a young log joins them in hours."""
ROWS_OF: Final = """
    SELECT {columns} FROM {table} WHERE created_at BETWEEN %s AND %s AND id = ANY(%s) ORDER BY created_at, id
"""
NEW_REMOVALS: Final = f"""
    {REMOVALS} AS row
    WHERE NOT EXISTS (SELECT FROM audit_log_leaves WHERE kind = 'removal' AND subject_id = row.id)
    ORDER BY created_at, id LIMIT %s
"""
INSERT_LEAVES: Final = """
    INSERT INTO audit_log_leaves (position, kind, subject_id, subject_at, salt, hash)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::uuid[], %s::timestamptz[], %s::bytea[], %s::bytea[])
"""
INSERT_NODES: Final = """
    INSERT INTO audit_log_nodes (height, position, hash)
    SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::bytea[])
"""
INSERT_CHECKPOINT: Final = """
    INSERT INTO audit_log_checkpoints (size, signed, verifier_key, through) VALUES (%s, %s, %s, %s)
    ON CONFLICT (size) DO UPDATE SET through = excluded.through
"""
OLDEST_PARTITION: Final = """
    SELECT min((regexp_match(
        pg_get_expr(part.relpartbound, part.oid), $$FROM \\('([^']+)'\\)$$))[1]::timestamptz)
    FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid WHERE inhparent = 'ai_decisions'::regclass
"""
HAS_OLDER: Final = """
    SELECT EXISTS (
            SELECT FROM audit_log_leaves
            WHERE kind = 'decision' AND subject_at < %(before)s AND salt IS NOT NULL)
       AND NOT EXISTS (SELECT FROM audit_log_removals
                       WHERE kind = 'decision' AND reason = 'retention' AND before >= %(before)s)
"""
INSERT_REMOVAL: Final = """
    INSERT INTO audit_log_removals (id, kind, reason, before) VALUES (%s, 'decision', 'retention', %s)
"""
FORGET_SALTS: Final = """
    UPDATE audit_log_leaves SET salt = NULL WHERE position = ANY(ARRAY(
        SELECT leaf.position FROM audit_log_leaves AS leaf
        WHERE leaf.salt IS NOT NULL AND leaf.kind = 'decision' AND leaf.subject_at < (
            SELECT max(before) FROM audit_log_removals AS gone
            WHERE gone.kind = 'decision' AND gone.reason = 'retention')
        LIMIT %s))
"""


class LogBroken(HushgateError):
    """The stored tree does not lead to its last signed root: nothing is signed on top of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What one run added.

    Attributes:
        leaves: how many of all kinds.
        size: leaves in the log.
        checkpoint: the signed root.
        rest_since: rows from this time on are left for another run at once; None: none are.
    """

    leaves: int
    size: int
    checkpoint: str
    rest_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLeaf:
    """A leaf to append."""

    kind: LeafKind
    subject_id: UUID
    subject_at: datetime
    salt: bytes
    hash: bytes


async def append_new(
    source: Pool, signer: Signer, now: datetime, since: datetime | None = None
) -> Appended | None:
    """Append up to ``BATCH`` rows of each kind and sign the root; None while another process does it.

    ``since`` is ``rest_since`` of the run before, if it left rows.

    Raises:
        LogBroken: the stored tree was changed.
        StorageUnavailable: Postgres is unreachable; the next run appends the rest.
    """
    async with checkout(source) as connection, connection.transaction():
        locked = await (await connection.execute(LOCK)).fetchone()
        if locked is None or not locked[0]:
            return None
        size, last = await load_size(connection), await load_last_checkpoint(connection)
        hashes = await load_hashes(connection, stored_parts(0, size))
        _check_unchanged(size, last, hashes, signer)
        await _note_dropped_partitions(connection, now)
        await connection.execute(FORGET_SALTS, (BATCH,))
        leaves, through = await _new_leaves(connection, since or _since(last, now), now)
        root = await _store(connection, size, leaves, hashes)
        checkpoint = Checkpoint(origin=signer.name, size=size + len(leaves), root=root)
        signed = signer.sign(checkpoint)
        values = (checkpoint.size, signed, signer.verifier_key(), through)
        await connection.execute(INSERT_CHECKPOINT, values)
    rest_since = through if through < now else None
    return Appended(leaves=len(leaves), size=checkpoint.size, checkpoint=signed, rest_since=rest_since)


def _check_unchanged(
    size: int, last: StoredCheckpoint | None, hashes: dict[Subtree, bytes], signer: Signer
) -> None:
    if last is None and size == 0:
        return
    if last is None or last.size != size:
        raise LogBroken(f"audit log: expected a checkpoint of {size} leaves, got {last and last.size}")
    if missing := missing_hashes(stored_parts(0, size), hashes):
        raise LogBroken(f"audit log: expected {missing[0]}, got nothing stored")
    try:
        checkpoint = read_checkpoint(last.signed, signer.verifier_key())
    except CheckpointRejected:  # signed with the key before a rotation: that key still proves it
        try:
            checkpoint = read_checkpoint(last.signed, last.verifier_key)
        except CheckpointRejected as error:
            raise LogBroken(f"audit log: {error}") from error
    if checkpoint.size != size or checkpoint.root != root_hash(size, hashes):
        raise LogBroken(f"audit log: the tree of {size} leaves does not have the root that was signed")


def _since(last: StoredCheckpoint | None, now: datetime) -> datetime:
    if last is None:
        return EPOCH
    return last.through - (LATE if last.through.date() == now.date() else DAILY_LATE)


async def _new_leaves(
    connection: PoolConnection, since: datetime, now: datetime
) -> tuple[list[NewLeaf], datetime]:
    """Rows without a leaf, and the time through which there are none left."""
    cursor, through = connection.cursor(row_factory=dict_row), now
    leaves: list[NewLeaf] = []
    for kind in ROWS:
        found, end = await _unlogged(connection, kind, since, now)
        through = min(through, end)
        leaves += [_leaf(kind, row) for row in await _rows(connection, kind, found)]
    rows = await (await cursor.execute(NEW_REMOVALS, (BATCH,))).fetchall()
    return leaves + [_leaf(LeafKind.REMOVAL, row) for row in rows], through


async def _unlogged(
    connection: PoolConnection, kind: LeafKind, since: datetime, now: datetime
) -> tuple[list[tuple[UUID, datetime]], datetime]:
    """At least ``BATCH`` rows without a leaf, fewer at the end; and the time through which all were seen."""
    found: list[tuple[UUID, datetime]] = []
    at, last, page = since, UUID(int=0), PAGE.format(table=ROWS[kind])
    while len(found) < BATCH:
        rows = await (await connection.execute(page, (at, last, now, BATCH))).fetchall()
        if not rows:
            return found, now
        logged = await (await connection.execute(LOGGED, (kind, [row[0] for row in rows]))).fetchall()
        known = {row[0] for row in logged}
        found += [(subject, when) for subject, when in rows if subject not in known]
        last, at = rows[-1]
    return found, at


async def _rows(
    connection: PoolConnection, kind: LeafKind, found: Sequence[tuple[UUID, datetime]]
) -> list[dict[str, Any]]:
    if not found:
        return []
    query = ROWS_OF.format(columns=COLUMNS[kind], table=ROWS[kind])
    values = (found[0][1], found[-1][1], [subject for subject, _ in found])
    return await (await connection.cursor(row_factory=dict_row).execute(query, values)).fetchall()


def _leaf(kind: LeafKind, row: Mapping[str, Any]) -> NewLeaf:
    salt = secrets.token_bytes(SALT_BYTES)
    return NewLeaf(
        kind=kind,
        subject_id=row["id"],
        subject_at=row["created_at"],
        salt=salt,
        hash=salted_leaf_hash(kind, salt, canonical(row)),
    )


async def _store(
    connection: PoolConnection, size: int, leaves: Sequence[NewLeaf], hashes: dict[Subtree, bytes]
) -> bytes:
    """Insert leaves and the nodes that they complete; the new root."""
    positions = list(range(size, size + len(leaves)))
    known = hashes | {Subtree(0, at): leaf.hash for at, leaf in zip(positions, leaves, strict=True)}
    nodes = []
    for node, below in completed(size, len(leaves)):
        known[node] = _complete_root([known[each] for each in below])
        nodes.append(node)
    if leaves:
        await connection.execute(INSERT_LEAVES, (positions, *_columns(leaves)))
    if nodes:
        values = [node.height for node in nodes], [node.position for node in nodes], [known[n] for n in nodes]
        await connection.execute(INSERT_NODES, values)
    return root_hash(size + len(leaves), known)


def _columns(leaves: Sequence[NewLeaf]) -> tuple[list[Any], ...]:
    return (
        [leaf.kind for leaf in leaves],
        [leaf.subject_id for leaf in leaves],
        [leaf.subject_at for leaf in leaves],
        [leaf.salt for leaf in leaves],
        [leaf.hash for leaf in leaves],
    )


def _complete_root(hashes: Sequence[bytes]) -> bytes:
    level = list(hashes)
    while len(level) > 1:
        level = [node_hash(level[at], level[at + 1]) for at in range(0, len(level), 2)]
    return level[0]


async def _note_dropped_partitions(connection: PoolConnection, now: datetime) -> None:
    """A month that retention dropped becomes a removal, so that verification can tell it from tampering."""
    oldest = await (await connection.execute(OLDEST_PARTITION)).fetchone()
    if oldest is None or oldest[0] is None:
        return
    dropped = await (await connection.execute(HAS_OLDER, {"before": oldest[0]})).fetchone()
    if dropped is not None and dropped[0]:
        await connection.execute(INSERT_REMOVAL, (uuid_at(now), oldest[0]))
