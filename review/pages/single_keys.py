"""Whether single keys act on pages: some people speak to their computer, and words are keys then."""

from __future__ import annotations

from starlette.responses import Response

from db import people_changes
from review.web import Visit


async def switch(visit: Visit) -> Response:
    """Keys on or off, for this person."""
    person = visit.person
    async with visit.store.writing() as connection:
        await people_changes.set_habits(
            connection,
            person.person_id,
            name=person.name,
            covered=person.covered,
            keys_on=visit.form.get("keys") is not None,
        )
    return visit.redirect("home")
