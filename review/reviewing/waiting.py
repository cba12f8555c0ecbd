"""What waits in the open queues, for who may review."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from db import queues
from db.decision_page import Connection
from db.queues import Load, Queue
from review.access import Right
from review.story.wording import span_of
from review.web import Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One open queue and how much of it waits for this person's accounts."""

    queue: Queue
    load: Load
    now: datetime

    @property
    def age(self) -> str:
        """Since when its oldest decision waits, in words; empty when nothing does."""
        oldest = self.load.oldest
        return "" if oldest is None else span_of((self.now - oldest).total_seconds())


async def open_queues(visit: Visit, connection: Connection) -> tuple[Waiting, ...]:
    """Every open queue for accounts that the person reviews; none for who reviews none."""
    if not visit.may(Right.REVIEW):
        return ()
    accounts = visit.accounts(Right.REVIEW)
    made = await queues.all_open(connection)
    loads = await queues.loads(connection, person_id=visit.person.person_id, accounts=accounts, now=visit.now)
    return tuple(
        Waiting(queue=queue, load=loads.get(queue.id, Load()), now=visit.now)
        for queue in made
        if queue.is_for(accounts)
    )
