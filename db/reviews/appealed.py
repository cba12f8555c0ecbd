"""An undone review that decided an appeal opens the appeal again."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.reviews.remedies import UndoTooLate

SETTLED: Final = sa.text("""
    SELECT settled_at IS NOT NULL FROM appeals WHERE review_id = :review FOR UPDATE
""")
REOPEN: Final = sa.text("""
    UPDATE appeals SET outcome = NULL, statement = NULL, decided_by = NULL, decided_at = NULL,
        review_id = NULL, effect = NULL
    WHERE review_id = :review
""")


async def reopen_appeal(connection: Connection, review_id: UUID) -> None:
    """Open the appeal that a review decided, if it decided one.

    Raises:
        UndoTooLate: its outcome was reported.
    """
    settled = (await connection.execute(SETTLED, {"review": review_id})).scalar()
    if settled:
        raise UndoTooLate("undo: expected an outcome that was not reported yet, got one that was")
    if settled is not None:
        await connection.execute(REOPEN, {"review": review_id})
