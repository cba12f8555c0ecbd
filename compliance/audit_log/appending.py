"""Appends what is new to the log and signs its root; no worker waits for it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from psycopg.rows import dict_row

from compliance.audit_log.checkpoints import Checkpoint, CheckpointRejected, Signer, read_checkpoint
from compliance.audit_log.entries import (
    DELETED,
    LOGGED,
    SALT_BYTES,
    LeafKind,
    Parts,
    canonical,
    hash_of_leaf,
    salted_hash,
)
from compliance.audit_log.merkle import Subtree, completed, root_hash, root_of, stored_parts
from compliance.audit_log.stored import (
    BATCH,
    StoredCheckpoint,
    load_hashes,
    load_last_checkpoint,
    load_size,
    missing_hashes,
)
from db.connection import Connection
from db.identifiers import EPOCH
from db.pool import Pool, checkout
from worker.errors import HushgateError

LATE: Final = timedelta(minutes=3)
"""How long after its ``created_at`` a row may be committed and still be seen by the next run."""
DAILY_LATE: Final = timedelta(days=3)
"""The same for the first run of a day: Postgres may have been down for a weekend."""

LOCK: Final = "SELECT hushgate_lock_log()"
PAGE: Final = """
    SELECT id, created_at FROM {table} WHERE (created_at, id) > (%s, %s) AND created_at <= %s AND {where}
    ORDER BY created_at, id LIMIT %s
"""
KNOWN: Final = "SELECT subject_id FROM audit_log_leaves WHERE kind = %s AND subject_id = ANY(%s)"
"""Two statements, because a planner without statistics of a young log joins them in hours."""
ROWS_OF: Final = """
    SELECT {columns} FROM {table} WHERE created_at BETWEEN %s AND %s AND id = ANY(%s) ORDER BY created_at, id
"""
ALL_NEW: Final = """
    SELECT {columns} FROM {table} AS row
    WHERE {where} AND NOT EXISTS (SELECT FROM audit_log_leaves WHERE kind = %s AND subject_id = row.id)
    ORDER BY created_at, id LIMIT %s
"""
"""Of tables with few rows."""
INSERT_LEAVES: Final = """
    INSERT INTO audit_log_leaves (position, kind, subject_id, subject_at, due_from, salt, kept_salt,
        kept_hash, erasable_hash, hash)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::uuid[], %s::timestamptz[], %s::timestamptz[],
        %s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[])
"""
INSERT_NODES: Final = """
    INSERT INTO audit_log_nodes (height, position, hash)
    SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::bytea[])
"""
INSERT_CHECKPOINT: Final = """
    INSERT INTO audit_log_checkpoints (size, signed, verifier_key, through) VALUES (%s, %s, %s, %s)
    ON CONFLICT (size) DO UPDATE SET through = excluded.through
"""
FORGET_DROPPED: Final = "SELECT hushgate_forget_dropped(%s)"


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
    due_from: datetime
    salt: bytes
    kept_salt: bytes
    parts: Parts

    @property
    def hash(self) -> bytes:
        """Its hash in the tree."""
        return hash_of_leaf(self.kind, self.subject_id, self.subject_at, self.due_from, self.parts)


async def append_new(
    source: Pool,
    signer: Signer,
    now: datetime,
    since: datetime | None = None,
    former_keys: frozenset[str] = frozenset(),
) -> Appended | None:
    """Append up to ``BATCH`` rows of each kind and sign the root; None while another process does it.

    Args:
        source: with the login of the log.
        signer: signs the new root.
        now: rows until then are appended.
        since: ``rest_since`` of the run before, if it left rows.
        former_keys: verifier keys that may have signed the last root instead of the signer.

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
        _check_unchanged(size, last, hashes, former_keys | {signer.verifier_key()})
        await connection.execute(FORGET_DROPPED, (BATCH,))
        leaves, through = await _new_leaves(connection, since or _since(last, now), now)
        root = await _store(connection, size, leaves, hashes)
        checkpoint = Checkpoint(origin=signer.name, size=size + len(leaves), root=root)
        signed = signer.sign(checkpoint)
        values = (checkpoint.size, signed, signer.verifier_key(), through)
        await connection.execute(INSERT_CHECKPOINT, values)
    rest_since = through if through < now else None
    return Appended(leaves=len(leaves), size=checkpoint.size, checkpoint=signed, rest_since=rest_since)


def _check_unchanged(
    size: int, last: StoredCheckpoint | None, hashes: dict[Subtree, bytes], keys: frozenset[str]
) -> None:
    if last is None and size == 0:
        return
    if last is None or last.size != size:
        raise LogBroken(f"audit log: expected a checkpoint of {size} leaves, got {last and last.size}")
    if missing := missing_hashes(stored_parts(0, size), hashes):
        raise LogBroken(f"audit log: expected {missing[0]}, got nothing stored")
    if last.verifier_key not in keys:  # the database names the key, and may name that of an intruder
        raise LogBroken(f"audit log: the key {last.verifier_key} of the last root is none of the log's")
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
    connection: Connection, since: datetime, now: datetime
) -> tuple[list[NewLeaf], datetime]:
    """Rows without a leaf, and the time through which there are none left."""
    through = now
    leaves = await _all_new(connection, LeafKind.LIMIT)
    for kind in DELETED:
        found, end = await _unlogged(connection, kind, since, now)
        through = min(through, end)
        leaves += [_leaf(kind, row) for row in await _rows(connection, kind, found)]
    return leaves + await _all_new(connection, LeafKind.REMOVAL), through


async def _all_new(connection: Connection, kind: LeafKind) -> list[NewLeaf]:
    logged = LOGGED[kind]
    query = ALL_NEW.format(columns=logged.columns, table=logged.table, where=logged.where)
    cursor = await connection.cursor(row_factory=dict_row).execute(query, (kind, BATCH))
    return [_leaf(kind, row) for row in await cursor.fetchall()]


async def _unlogged(
    connection: Connection, kind: LeafKind, since: datetime, now: datetime
) -> tuple[list[tuple[UUID, datetime]], datetime]:
    """At least ``BATCH`` rows without a leaf, fewer at the end; and the time through which all were seen."""
    found: list[tuple[UUID, datetime]] = []
    at, last, page = since, UUID(int=0), PAGE.format(table=LOGGED[kind].table, where=LOGGED[kind].where)
    while len(found) < BATCH:
        rows = await (await connection.execute(page, (at, last, now, BATCH))).fetchall()
        if not rows:
            return found, now
        logged = await (await connection.execute(KNOWN, (kind, [row[0] for row in rows]))).fetchall()
        known = {row[0] for row in logged}
        found += [(subject, when) for subject, when in rows if subject not in known]
        last, at = rows[-1]
    return found, at


async def _rows(
    connection: Connection, kind: LeafKind, found: Sequence[tuple[UUID, datetime]]
) -> list[dict[str, Any]]:
    if not found:
        return []
    query = ROWS_OF.format(columns=LOGGED[kind].columns, table=LOGGED[kind].table)
    values = (found[0][1], found[-1][1], [subject for subject, _ in found])
    return await (await connection.cursor(row_factory=dict_row).execute(query, values)).fetchall()


def _leaf(kind: LeafKind, row: Mapping[str, Any]) -> NewLeaf:
    salt, kept_salt = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(SALT_BYTES)
    logged = LOGGED[kind]
    return NewLeaf(
        kind=kind,
        subject_id=row["id"],
        subject_at=row["created_at"],
        due_from=row[logged.due_from],
        salt=salt,
        kept_salt=kept_salt,
        parts=Parts(
            kept=salted_hash(kept_salt, canonical(row, logged.kept)),
            erasable=salted_hash(salt, canonical(row, logged.erasable)),
        ),
    )


async def _store(
    connection: Connection, size: int, leaves: Sequence[NewLeaf], hashes: dict[Subtree, bytes]
) -> bytes:
    """Insert leaves and the nodes that they complete; the new root."""
    positions = list(range(size, size + len(leaves)))
    known = hashes | {Subtree(0, at): leaf.hash for at, leaf in zip(positions, leaves, strict=True)}
    nodes = []
    for node, below in completed(size, len(leaves)):
        known[node] = root_of([(0, known[each]) for each in below])
        nodes.append(node)
    if leaves:
        await connection.execute(INSERT_LEAVES, (positions, *_columns(leaves)))
    if nodes:
        values = [node.height for node in nodes], [node.position for node in nodes], [known[n] for n in nodes]
        await connection.execute(INSERT_NODES, values)
    return root_hash(size + len(leaves), known)


def _columns(leaves: Sequence[NewLeaf]) -> tuple[list[Any], ...]:
    rows = [
        (
            leaf.kind, leaf.subject_id, leaf.subject_at, leaf.due_from, leaf.salt, leaf.kept_salt,
            leaf.parts.kept, leaf.parts.erasable, leaf.hash,
        )
        for leaf in leaves
    ]  # fmt: skip
    return tuple(map(list, zip(*rows, strict=True)))
