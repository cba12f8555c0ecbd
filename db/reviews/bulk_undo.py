"""The undo of a whole bulk review: withdraws its reviews, a batch at a time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from db.connection import Connection
from db.reviews import rulings, withdrawal
from db.reviews.rulings import Reviewer

BATCH: Final = 100
"""Reviews per step and transaction: about a second."""
BULK_UNDO_WINDOW: Final = timedelta(days=7)
"""How long a bulk review may be undone; a bulk review retracts no replies, so nothing waits for the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoBatch:
    """The result of one batch.

    Attributes:
        undone: reviews withdrawn with their effect.
        kept: reviews that stay: the decision was changed since, was erased, or is of another account.
        last: the last decision of the batch; None when nothing is left.
    """

    undone: int
    kept: int
    last: UUID | None


async def undo_batch(
    connection: Connection,
    job_id: UUID,
    reviewer: Reviewer,
    *,
    accounts: Collection[str] | None,
    after: UUID | None,
    undo_id: UUID,
    now: datetime,
) -> UndoBatch:
    """Withdraw the next reviews of a bulk review, in the caller's transaction.

    ``accounts``: only reviews on these, None: on every account; ``after``: the last decision of the batch
    before; ``undo_id``: the job that undoes it.
    """
    reviews = await rulings.reviews_of_job(connection, job_id, after=after, limit=BATCH)
    undone = 0
    for review in reviews:
        if accounts is None or review.user_id in accounts:
            undone += await withdrawal.withdraw_unchanged(connection, review, reviewer, now, job_id=undo_id)
    last = reviews[-1].decision_id if len(reviews) == BATCH else None
    return UndoBatch(undone=undone, kept=len(reviews) - undone, last=last)
