"""Walking through a list without going back to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from db import audit, audit_walk
from db.decision_page import Connection, Row
from review.access import Right
from review.lists.filters import Asked, Asker, asked
from review.web import Visit

LONGEST: Final = 4000
"""Characters of a list's query that come along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The list that the person came from, and where it leads from here.

    Attributes:
        query: of the list's URL.
        along: what links to other decisions of it carry; empty when the person came from elsewhere.
    """

    query: str = ""
    along: str = ""
    newer: UUID | None = None
    older: UUID | None = None


def came_from(visit: Visit) -> str | None:
    """The query of the list that leads here, in ``?from=`` or in a form's field; None when there is none."""
    given = visit.request.query_params.get("from", visit.form.get("from"))
    return given if isinstance(given, str) and len(given) <= LONGEST else None


async def walk(visit: Visit, connection: Connection, row: Row) -> Walk:
    """The way on from a decision, by the filters of the list that the person came from."""
    if (given := came_from(visit)) is None:
        return Walk()
    wanted = _asked(visit, given)
    if wanted is None:
        return Walk()
    filters = await audit.unspoilt(connection, wanted.filters, visit.person.person_id)
    return Walk(
        query=wanted.query(),
        along=urlencode({"from": wanted.query()}),
        newer=await audit_walk.newer(connection, filters, row),
        older=await audit_walk.older(connection, filters, row),
    )


def _asked(visit: Visit, given: str) -> Asked | None:
    """The list's filters, held to what the person may see; None when they are none."""
    try:
        pairs = parse_qsl(given, max_num_fields=50)
    except ValueError:
        return None
    asker = Asker(now=visit.now, login=visit.person.login)
    wanted = asked(pairs, asker, visit.accounts(Right.VIEW))
    return None if wanted.problems else wanted
