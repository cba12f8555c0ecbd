"""Switches a person's keyboard shortcuts: speech input would trigger them."""

from __future__ import annotations

from starlette.responses import Response

from db.people import changes
from review.http.visit import Visit


async def switch_shortcuts(visit: Visit) -> Response:
    """Switch shortcuts on or off."""
    person = visit.person
    async with visit.store.writing() as connection:
        await changes.set_preferences(
            connection,
            person.person_id,
            name=person.name,
            covered=person.covered,
            keys_on=visit.form.get("keys") is not None,
        )
    return visit.redirect("home")
