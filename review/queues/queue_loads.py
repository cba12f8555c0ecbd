"""The open queues of a reviewer, with the number of waiting items."""

from __future__ import annotations

from db.connection import Connection
from db.reviews import queue_loads, queues
from db.reviews.queue_loads import QueueLoad
from db.reviews.queues import Queue
from review.access import Right
from review.http.visit import Visit
from review.languages.reader import midnight


async def load_open_queues(visit: Visit, connection: Connection) -> tuple[tuple[Queue, QueueLoad], ...]:
    """The open queues for the accounts that the person reviews, each with its load in these accounts."""
    if not visit.may(Right.REVIEW):
        return ()
    accounts = visit.accounts(Right.REVIEW)
    loads = await queue_loads.load_counts(
        connection,
        person_id=visit.person.person_id,
        accounts=accounts,
        now=visit.now,
        today=midnight(visit.now),
    )
    opened = await queues.list_open_queues(connection)
    return tuple((queue, loads.get(queue.id, QueueLoad())) for queue in opened if queue.is_for(accounts))
