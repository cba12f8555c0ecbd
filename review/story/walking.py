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


async def walk(visit: Visit, connection: Connection, row: Row) -> Walk:
    """The way on from a decision, by the list's filters in ``?from=``."""
    if (given := visit.request.query_params.get("from")) is None:
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
    if len(given) > LONGEST:
        return None
    try:
        pairs = parse_qsl(given, max_num_fields=50)
    except ValueError:
        return None
    asker = Asker(now=visit.now, login=visit.person.login)
    wanted = asked(pairs, asker, visit.accounts(Right.VIEW))
    return None if wanted.problems else wanted
