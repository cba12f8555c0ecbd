"""The steps of an erasure, for the worker that runs it: each one transaction, safe to repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from compliance.erasure.records import COLUMNS, Erasure, ErasureKind
from db.pool import Pool, checkout, fetch_as, fetch_dicts, fetch_one_as, fetch_rows, fetch_value
from db.rows import Values

STALE_S: Final = 30
"""A process without a step for this long counts as dead; a step takes a second or two."""
LONG: Final = "SET LOCAL statement_timeout = '10min'"
"""For statements that read a whole table once."""
CLAIM: Final = f"""
    UPDATE erasures SET alive_at = now() WHERE id = (
        SELECT id FROM erasures
        WHERE finished_at IS NULL AND (phase = 'requested' OR confirmed_at IS NOT NULL)
            AND (alive_at IS NULL OR alive_at < now() - interval '{STALE_S} seconds')
            AND (%(id)s::uuid IS NULL OR id = %(id)s)
        ORDER BY requested_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING {COLUMNS}
"""
PREVIEW: Final = "SELECT hushgate_store_preview(%s, %s)"
BEGIN: Final = "SELECT hushgate_begin_erasure(%s, %s)"
DECISIONS: Final = "SELECT * FROM hushgate_erase_decisions(%s, %s)"
"""Makes decisions tombstones."""
AGAIN: Final = "SELECT * FROM hushgate_erase_again(%s, %s)"
"""Erases what came to tombstones meanwhile."""
ROWS: Final = "SELECT hushgate_erase_rows(%s)"
QUERIES: Final = "SELECT * FROM hushgate_erase_queries(%s, %s)"
"""Erases queries from lines of the access log."""
PHASE: Final = f"SELECT {COLUMNS} FROM hushgate_next_erasure_phase(%(id)s, %(before)s)"
RELEASE: Final = "UPDATE erasures SET alive_at = NULL WHERE id = %s RETURNING id"
ADD: Final = "SELECT hushgate_add_stream_counts(%s, %s)"
FINISH: Final = "SELECT hushgate_finish_erasure(%s)"
ITEMS: Final = """
    SELECT kind, value FROM erasure_items
    WHERE erasure_id = %s AND kind IN ('decision', 'answer', 'conversation')
"""
SCOPE: Final = "SELECT decision_id, conversation_id, whole, held FROM hushgate_erasure_scope(%s)"
UNSIGNED: Final = f"SELECT {COLUMNS} FROM erasures WHERE phase = 'finished' AND signature IS NULL"
SIGN: Final = "SELECT hushgate_sign_erasure(%s, %s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureTargets:
    """What an erasure finds in outgoing streams.

    Attributes:
        decisions: erased decisions and people's answers, as text.
        conversations: conversations that go as a whole.
        held: decisions that a legal hold keeps, as text.
    """

    erasure: Erasure
    decisions: frozenset[str]
    conversations: frozenset[str]
    held: frozenset[str]

    def include(self, entry_id: str, body: Mapping[str, Any]) -> bool:
        """Whether an entry belongs to the erasure; one that came after its start only by its decision."""
        if body.get("user_id") != self.erasure.user_id:
            return False
        decisions = {str(body.get(name)) for name in ("decision_id", "answered_decision_id")}
        if decisions & self.decisions:
            return True
        if decisions & self.held:
            return False
        started_at, at_ms = self.erasure.started_at, int(entry_id.partition("-")[0])
        if started_at is not None and at_ms > started_at.timestamp() * 1000:
            return False
        whole = self.erasure.kind == ErasureKind.ACCOUNT
        return whole or body.get("conversation_id") in self.conversations


async def claim_erasure(source: Pool, erasure_id: UUID | None = None) -> Erasure | None:
    """The request that has waited longest for a worker, or the named request; None without a request."""
    return await fetch_one_as(source, Erasure, CLAIM, {"id": erasure_id})


async def store_preview(source: Pool, erasure_id: UUID, entries: Mapping[str, int]) -> None:
    """Count the rows and store them with the entries of streams."""
    await _run_long(source, PREVIEW, (erasure_id, Jsonb(dict(entries))))


async def begin_erasure(source: Pool, erasure_id: UUID, newest_entry: str) -> None:
    """Start a confirmed one: what is published until now is erased."""
    await fetch_value(source, BEGIN, (erasure_id, newest_entry))


async def erase_rows(source: Pool, erasure_id: UUID) -> None:
    """Erase rows that belong to no single decision."""
    await _run_long(source, ROWS, (erasure_id,))


async def erase_some(source: Pool, part: str, erasure_id: UUID, most: int) -> bool:
    """Erase the next ``most`` of a part, ``DECISIONS``, ``AGAIN`` or ``QUERIES``; True when none is left."""
    (row,) = await fetch_dicts(source, part, (erasure_id, most))
    return bool(row["finished"])


async def next_phase(source: Pool, erasure: Erasure) -> Erasure | None:
    """The erasure in its next phase; None when another process has moved it."""
    return await fetch_one_as(source, Erasure, PHASE, {"id": erasure.id, "before": erasure.phase})


async def release_erasure(source: Pool, erasure_id: UUID) -> None:
    """Let another process continue a request that waits for events in the stream."""
    await fetch_rows(source, RELEASE, (erasure_id,))


async def add_counts(source: Pool, erasure_id: UUID, entries: Mapping[str, int]) -> None:
    """Add erased entries of streams to the figures."""
    await fetch_value(source, ADD, (erasure_id, Jsonb(dict(entries))))


async def finish_erasure(source: Pool, erasure_id: UUID) -> None:
    """Let the database make the receipt, and forget who was erased."""
    await fetch_value(source, FINISH, (erasure_id,))


async def found_targets(source: Pool, erasure: Erasure) -> ErasureTargets:
    """What the job has found so far."""
    rows = await fetch_rows(source, ITEMS, (erasure.id,))
    scope = await fetch_dicts(source, SCOPE, (erasure.id,))
    return ErasureTargets(
        erasure=erasure,
        decisions=frozenset(value for kind, value in rows if kind != "conversation"),
        conversations=frozenset(value for kind, value in rows if kind == "conversation"),
        held=frozenset(str(row["decision_id"]) for row in scope if row["held"]),
    )


async def expected_targets(source: Pool, erasure: Erasure) -> ErasureTargets:
    """What the job would find now."""
    scope = await fetch_dicts(source, SCOPE, (erasure.id,))
    return ErasureTargets(
        erasure=erasure,
        decisions=frozenset(str(row["decision_id"]) for row in scope if not row["held"]),
        conversations=frozenset(row["conversation_id"] for row in scope if row["whole"]),
        held=frozenset(str(row["decision_id"]) for row in scope if row["held"]),
    )


async def unsigned_erasures(source: Pool) -> Sequence[Erasure]:
    """Erasures that have ended and whose receipts wait for a signature."""
    return await fetch_as(source, Erasure, UNSIGNED)


async def store_signature(source: Pool, erasure_id: UUID, signature: str) -> None:
    """Store the signature of an unsigned receipt."""
    await fetch_value(source, SIGN, (erasure_id, signature))


async def _run_long(source: Pool, statement: str, values: Values) -> None:
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LONG)
        await connection.execute(statement, values)
