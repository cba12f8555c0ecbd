"""The open queues of a reviewer, with the number of waiting items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from db.review_store import AsyncConnection
from db.reviews import queue_loads, queues
from db.reviews.queue_loads import QueueLoad
from db.reviews.queues import Queue
from review.access import Right
from review.http.visit import Visit
from review.wording import duration_wording


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWithLoad:
    """An open queue and its load in this person's accounts."""

    queue: Queue
    load: QueueLoad
    now: datetime

    @property
    def age(self) -> str:
        """The age of its oldest open decision, in words; empty without one."""
        oldest = self.load.oldest
        return "" if oldest is None else duration_wording((self.now - oldest).total_seconds())


async def list_open_queues(visit: Visit, connection: AsyncConnection) -> tuple[QueueWithLoad, ...]:
    """Open queues for the accounts that the person reviews."""
    if not visit.may(Right.REVIEW):
        return ()
    accounts = visit.accounts(Right.REVIEW)
    opened = await queues.list_open_queues(connection)
    loads = await queue_loads.load_counts(
        connection, person_id=visit.person.person_id, accounts=accounts, now=visit.now
    )
    return tuple(
        QueueWithLoad(queue=queue, load=loads.get(queue.id, QueueLoad()), now=visit.now)
        for queue in opened
        if queue.is_for(accounts)
    )
