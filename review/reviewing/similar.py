"""Similar decisions, as far as somebody may see them."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from db import items, similar
from db.similar import Similar
from review import care
from review.access import Right
from review.web import Visit


async def similar_decisions(visit: Visit, decision_id: UUID) -> tuple[tuple[Similar, tuple[str, ...]], ...]:
    """Decisions like one, each with why its text is covered; for ``decision/_similar.html``."""
    async with visit.store.reading() as connection:
        found = await similar.similar_to(connection, decision_id)
        hidden = await items.hidden(connection, visit.person.person_id)
    return tuple(
        (
            replace(each, state="open") if each.row["id"] in hidden else each,
            care.cover(visit.person.covered, each.row),
        )
        for each in found
        if visit.may(Right.VIEW, each.row["user_id"])
    )
