"""Decisions with a known answer, dealt among others so that readers can be measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db import exchanges
from db.reviews import GIVEN, NOTE_CHARS, DecisionGone, Reviewer, ReviewRejected, Ruling
from worker.model import Verdict

KNOWN: Final = sa.text("""
    SELECT verdict, corrected_decision, note, created_by FROM golden_items WHERE decision_id = :decision
""")
MARK: Final = sa.text("""
    INSERT INTO golden_items (
        decision_id, decision_at, user_id, verdict, corrected_decision, note, created_by)
    VALUES (:decision, :at, :user_id, :verdict, :corrected, :note, :created_by)
    ON CONFLICT (decision_id) DO UPDATE SET verdict = EXCLUDED.verdict, note = EXCLUDED.note,
        corrected_decision = EXCLUDED.corrected_decision, created_by = EXCLUDED.created_by
""")
UNMARK: Final = sa.text("DELETE FROM golden_items WHERE decision_id = :decision")
CLOSE: Final = sa.text("""
    UPDATE queue_items SET done_at = now() WHERE decision_id = :decision AND golden AND done_at IS NULL
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a good reader says of a decision, and why."""

    verdict: Ruling
    corrected_decision: Verdict | None
    note: str
    created_by: str


async def known(connection: AsyncConnection, decision_id: UUID) -> Known | None:
    """The known answer of a decision, or None; to be shown only to those who gave theirs, and to leads."""
    row = (await connection.execute(KNOWN, {"decision": decision_id})).mappings().first()
    if row is None:
        return None
    corrected = row["corrected_decision"]
    return Known(
        verdict=Ruling(row["verdict"]),
        corrected_decision=Verdict(corrected) if corrected else None,
        note=row["note"],
        created_by=row["created_by"],
    )


async def mark(
    connection: AsyncConnection,
    decision_id: UUID,
    *,
    verdict: Ruling,
    corrected: Verdict | None,
    note: str,
    by: Reviewer,
) -> None:
    """Give a decision a known answer; whoever gives it is never dealt it.

    Raises:
        DecisionGone: there is no such decision.
        ReviewRejected: the answer is none that a reader can give.
    """
    if verdict not in GIVEN:
        raise ReviewRejected(f"verdict: expected {', '.join(GIVEN)}, got {verdict}")
    if len(note) > NOTE_CHARS or "\0" in note:
        raise ReviewRejected(f"note: expected at most {NOTE_CHARS} characters without NUL, got {len(note)}")
    decided = await exchanges.subject(connection, decision_id)
    if decided is None:
        raise DecisionGone(f"decision: expected the id of a stored one, got {decision_id}")
    values = {
        "decision": decision_id,
        "at": decided.created_at,
        "user_id": decided.user_id,
        "verdict": verdict,
        "corrected": corrected,
        "note": note.strip(),
        "created_by": by.login,
    }
    await connection.execute(MARK, values)


async def unmark(connection: AsyncConnection, decision_id: UUID) -> None:
    """Forget the known answer; nobody is dealt it any more, answers that were given stay."""
    await connection.execute(UNMARK, {"decision": decision_id})
    await connection.execute(CLOSE, {"decision": decision_id})
