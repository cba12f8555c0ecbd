"""Whether single keys act on pages: some people speak to their computer, and words are keys then."""

from __future__ import annotations

from starlette.responses import Response

from db import people
from review.web import Visit


async def switch(visit: Visit) -> Response:
    """Keys on or off, for this person."""
    async with visit.store.writing() as connection:
        await people.set_keys(connection, visit.person.person_id, on=visit.form.get("keys") is not None)
    return visit.redirect("home")
