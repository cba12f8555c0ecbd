"""How much waits for the person: the numbers in the navigation, which a browser loads after the page."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from db.answers import waiting
from db.reviews import queue_loads
from review.access import Right
from review.http.visit import Visit

COUNTED: Final = 100
"""What waits is counted up to this number, not read as a whole; ``shell/counts.html`` shows a plus."""


async def show_counts(visit: Visit) -> Response:
    """Messages that wait for an answer, and items of queues."""
    accounts = visit.accounts(Right.REVIEW)
    async with visit.store.reading() as connection:
        to_answer = await waiting.count_waiting(connection, accounts, now=visit.now, most=COUNTED)
        to_review = await queue_loads.count_for_person(
            connection, person_id=visit.person.person_id, accounts=accounts, now=visit.now, most=COUNTED
        )
    counts = {"/escalations": to_answer, "/queues": to_review}
    return visit.render("shell/counts.html", counts=counts, counted=COUNTED)
