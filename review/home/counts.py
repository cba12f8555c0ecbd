"""How much waits for the person: the numbers in the navigation, which a browser loads after the page."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from db.answers import waiting
from review.access import Right
from review.http.visit import Visit
from review.queues.queue_loads import load_open_queues

COUNTED: Final = 100
"""What waits for an answer is counted up to this number, which ``shell/counts.html`` shows with a plus."""


async def show_counts(visit: Visit) -> Response:
    """Messages that wait for an answer, and items of queues."""
    async with visit.store.reading() as connection:
        to_answer = await waiting.count_waiting(
            connection, visit.accounts(Right.REVIEW), now=visit.now, most=COUNTED
        )
        queues = await load_open_queues(visit, connection)
    counts = {"/escalations": to_answer, "/queues": sum(load.for_you for _queue, load in queues)}
    return visit.render("shell/counts.html", counts=counts, counted=COUNTED)
