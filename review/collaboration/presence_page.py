"""The heartbeat of an open decision page, answered with who else has it open."""

from __future__ import annotations

from starlette.responses import Response

from db.collaboration import comments, presence
from review.access import Right
from review.collaboration.requests import decision_of_path
from review.http.visit import Visit


async def beat(visit: Visit) -> Response:
    """Note that the person has the page open, and has read the mentions on it; the names of the others."""
    made = await decision_of_path(visit, Right.VIEW)
    person_id, now = visit.person.person_id, visit.now
    async with visit.store.writing() as connection:
        await presence.note_presence(connection, made.decision_id, person_id, now)
        if visit.field("read") == "yes":
            await comments.mark_seen(connection, person_id, now, made.decision_id)
        others = await presence.others_present(connection, made.decision_id, person_id, now)
    return visit.render("collaboration/_others.html", others=others)
