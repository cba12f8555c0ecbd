"""Appends what is new to the log and signs its root; no worker waits for it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from compliance.audit_log.checkpoints import Checkpoint, CheckpointRejected, Signer, read_checkpoint
from compliance.audit_log.entries import (
    DELETED,
    LOGGED,
    SALT_BYTES,
    LeafKind,
    canonical,
    hash_of_leaf,
    salted_hash,
)
from compliance.audit_log.merkle import Subtree, completed, root_hash, root_of, stored_parts
from compliance.audit_log.stored import (
    BATCH,
    LEAF_COLUMNS,
    SIZE,
    Leaf,
    StoredCheckpoint,
    load_hashes,
    load_last_checkpoint,
    missing_hashes,
)
from db.connection import Connection
from db.identifiers import EPOCH
from db.pool import Pool, checkout
from db.rows import Row, all_rows, first_value
from worker.errors import HushgateError

LATE: Final = timedelta(minutes=3)
"""How long after its ``created_at`` a row may be committed and still be seen by the next run."""
DAILY_LATE: Final = timedelta(days=3)
"""``LATE`` for the first run of a day: Postgres may have been down for a weekend."""

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
INSERT_LEAVES: Final = f"""
    INSERT INTO audit_log_leaves ({LEAF_COLUMNS})
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
        rest_since: rows from this time on are left for another run at once; None: no rows are left.
    """

    leaves: int
    size: int
    checkpoint: str
    rest_since: datetime | None


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
        if not await first_value(connection, LOCK):
            return None
        size, last = await first_value(connection, SIZE), await load_last_checkpoint(connection)
        hashes = await load_hashes(connection, stored_parts(0, size))
        _check_unchanged(size, last, hashes, former_keys | {signer.verifier_key()})
        await connection.execute(FORGET_DROPPED, (BATCH,))
        rows, through = await _new_rows(connection, since or _since(last, now), now)
        leaves = [_leaf(size + number, kind, row) for number, (kind, row) in enumerate(rows)]
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
        raise LogBroken(
            f"audit log: expected a last root of a known key, got one of {last.verifier_key}; if that key is"
            " yours, add it to HUSHGATE_AUDIT_LOG_VERIFIERS"
        )
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


async def _new_rows(
    connection: Connection, since: datetime, now: datetime
) -> tuple[list[tuple[LeafKind, Row]], datetime]:
    """Rows without a leaf, in the order of their leaves, and the time up to which all rows have leaves."""
    through = now
    rows = await _all_new(connection, LeafKind.LIMIT)
    for kind in DELETED:
        found, end = await _unlogged(connection, kind, since, now)
        through = min(through, end)
        rows += [(kind, row) for row in await _rows(connection, kind, found)]
    return rows + await _all_new(connection, LeafKind.REMOVAL), through


async def _all_new(connection: Connection, kind: LeafKind) -> list[tuple[LeafKind, Row]]:
    logged = LOGGED[kind]
    query = ALL_NEW.format(columns=logged.columns, table=logged.table, where=logged.where)
    return [(kind, row) for row in await all_rows(connection, query, (kind, BATCH))]


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
) -> Sequence[Row]:
    if not found:
        return ()
    query = ROWS_OF.format(columns=LOGGED[kind].columns, table=LOGGED[kind].table)
    values = (found[0][1], found[-1][1], [subject for subject, _ in found])
    return await all_rows(connection, query, values)


def _leaf(position: int, kind: LeafKind, row: Row) -> Leaf:
    salt, kept_salt = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(SALT_BYTES)
    logged = LOGGED[kind]
    kept_hash = salted_hash(kept_salt, canonical(row, logged.kept))
    erasable_hash = salted_hash(salt, canonical(row, logged.erasable))
    about = (row["id"], row["created_at"], row[logged.due_from])
    return Leaf(
        position=position,
        kind=kind,
        subject_id=about[0],
        subject_at=about[1],
        due_from=about[2],
        salt=salt,
        kept_salt=kept_salt,
        kept_hash=kept_hash,
        erasable_hash=erasable_hash,
        hash=hash_of_leaf(kind, *about, kept_hash, erasable_hash),
    )


async def _store(
    connection: Connection, size: int, leaves: Sequence[Leaf], hashes: dict[Subtree, bytes]
) -> bytes:
    """Insert leaves and the nodes that they complete; the new root."""
    known = hashes | {Subtree(0, leaf.position): leaf.hash for leaf in leaves}
    nodes = []
    for node, below in completed(size, len(leaves)):
        known[node] = root_of([(0, known[each]) for each in below])
        nodes.append(node)
    if leaves:
        columns = [[getattr(leaf, name) for leaf in leaves] for name in Leaf.__slots__]
        await connection.execute(INSERT_LEAVES, columns)
    if nodes:
        values = [node.height for node in nodes], [node.position for node in nodes], [known[n] for n in nodes]
        await connection.execute(INSERT_NODES, values)
    return root_hash(size + len(leaves), known)
