"""Golden items: decisions with a known answer, dealt among others to measure reviewers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.reviews import exchanges
from db.reviews.rulings import NOTE_CHARS, RULINGS, DecisionGone, Reviewer, ReviewRejected, Ruling
from db.rows import row_as
from worker.model import DecisionKind

KNOWN: Final = sa.text("""
    SELECT ruling, corrected_decision, note, created_by FROM golden_items WHERE decision_id = :decision
""")
SET: Final = sa.text("""
    INSERT INTO golden_items (
        decision_id, decision_at, user_id, ruling, corrected_decision, note, created_by)
    VALUES (:decision, :at, :user_id, :ruling, :corrected, :note, :created_by)
    ON CONFLICT (decision_id) DO UPDATE SET ruling = EXCLUDED.ruling, note = EXCLUDED.note,
        corrected_decision = EXCLUDED.corrected_decision, created_by = EXCLUDED.created_by
""")
DELETE: Final = sa.text("DELETE FROM golden_items WHERE decision_id = :decision")
CLOSE: Final = sa.text("""
    UPDATE queue_items SET done_at = now() WHERE decision_id = :decision AND golden AND done_at IS NULL
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswer:
    """The known answer of a decision, and its explanation."""

    ruling: Ruling
    corrected_decision: DecisionKind | None
    note: str
    created_by: str


async def known_answer(connection: Connection, decision_id: UUID) -> KnownAnswer | None:
    """The known answer of a decision, or None; show it only to leads and to people who have answered."""
    return await row_as(connection, KnownAnswer, KNOWN, {"decision": decision_id})


async def set_known_answer(
    connection: Connection,
    decision_id: UUID,
    *,
    ruling: Ruling,
    corrected: DecisionKind | None,
    note: str,
    by: Reviewer,
) -> None:
    """Set the known answer of a decision; its author is never dealt the item.

    Raises:
        DecisionGone: there is no such decision.
        ReviewRejected: the answer is invalid.
    """
    if ruling not in RULINGS:
        raise ReviewRejected(f"ruling: expected {', '.join(RULINGS)}, got {ruling}")
    if len(note) > NOTE_CHARS or "\0" in note:
        raise ReviewRejected(f"note: expected at most {NOTE_CHARS} characters without NUL, got {len(note)}")
    subject = await exchanges.load_subject(connection, decision_id)
    if subject is None:
        raise DecisionGone(f"decision: expected the id of a stored one, got {decision_id}")
    values = {
        "decision": decision_id,
        "at": subject.created_at,
        "user_id": subject.user_id,
        "ruling": ruling,
        "corrected": corrected,
        "note": note.strip(),
        "created_by": by.login,
    }
    await connection.execute(SET, values)


async def forget_known_answer(connection: Connection, decision_id: UUID) -> None:
    """Delete the known answer; the item is no longer dealt, and stored answers stay."""
    await connection.execute(DELETE, {"decision": decision_id})
    await connection.execute(CLOSE, {"decision": decision_id})
