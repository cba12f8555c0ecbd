"""Agreement: how often people find a rule, a reason or each other right."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db import agreement, items
from db.access_log import Action
from db.agreement import Basis, Readings
from review.access import Right
from review.figures import figure_links, ranges
from review.figures.agreement_view import SORTS, Tables, tables
from review.figures.measures import ENOUGH_PAIRS
from review.figures.ranges import BadRange, Range
from review.web import Visit

LONG_AGO: Final = timedelta(days=366)
"""How far back the decisions of a review are looked for: they may be older than the review."""
BASES: Final = {
    Basis.SAMPLED: ("Sampled", "drawn at random for a queue: they speak for what was not read"),
    Basis.ESCALATIONS: ("Escalations", "handed to people by the system: they speak for escalations only"),
    Basis.CHOSEN: ("Chosen", "picked by a reader: they speak for themselves only"),
    Basis.BULK: ("Bulk", "one verdict on many at once: not independent, so intervals are too narrow"),
}


async def page(visit: Visit) -> Response:
    """The page; what cannot be used in the URL is said, and the last 30 days are shown."""
    problem = ""
    try:
        chosen, readings, basis, sort = asked(visit)
    except BadRange as bad:
        problem = str(bad)
        chosen, readings, basis, sort = _plain(visit)
    counted, basis, found = await found_in(visit, readings, basis, sort)
    said = chosen.query | {"account": readings.account or "", "basis": basis, "sort": sort}
    await visit.log(Action.FIGURES, user_id=readings.account, detail={"agreement": basis})
    return visit.render(
        "agreement.html",
        status=400 if problem else 200,
        problem=problem,
        chosen=chosen,
        account=readings.account or "",
        basis=basis,
        bases=BASES,
        counted=counted,
        tables=found,
        sort=sort,
        titles=ranges.TITLES,
        enough=ENOUGH_PAIRS,
        link=lambda **changes: "?" + urlencode(said | changes),
        decisions=lambda **filters: figure_links.decisions(
            chosen.since - LONG_AGO, chosen.until, account=readings.account, **filters
        ),
    )


async def found_in(
    visit: Visit, readings: Readings, basis: Basis | None, sort: str
) -> tuple[dict[str, int], Basis, Tables]:
    """Counts by basis, the basis shown (the first with reviews unless one was asked for), its tables."""
    async with visit.store.reading() as connection:
        readings = replace(readings, hidden=await items.hidden(connection, visit.person.person_id))
        counted = await agreement.bases(connection, readings)
        basis = basis or next((each for each in Basis if counted.get(each)), Basis.SAMPLED)
        found = await agreement.agreement(connection, readings, basis)
    return counted, basis, tables(found, sort)


def asked(visit: Visit) -> tuple[Range, Readings, Basis | None, str]:
    """What the URL asks for, restricted to the accounts the person leads.

    Raises:
        BadRange: a value is not usable.
        Refused: 403 or 404, the account is not one of theirs.
    """
    values = {name: value.strip() for name, value in visit.request.query_params.items()}
    chosen = ranges.range_of({"range": "" if values.get("since") else "30d"} | _set(values), visit.now)
    basis, sort = values.get("basis") or None, values.get("sort") or SORTS[0]
    if basis is not None and basis not in list(Basis):
        raise BadRange(f"basis: expected one of {', '.join(Basis)}, got {basis[:40]!r}")
    if sort not in SORTS:
        raise BadRange(f"sort: expected one of {', '.join(SORTS)}, got {sort[:40]!r}")
    account = values.get("account") or None
    if account is not None:
        visit.require(Right.LEAD, account)
    return chosen, _readings(visit, chosen, account), None if basis is None else Basis(basis), sort


def _plain(visit: Visit) -> tuple[Range, Readings, Basis | None, str]:
    chosen = ranges.range_of({"range": "30d"}, visit.now)
    return chosen, _readings(visit, chosen, None), None, SORTS[0]


def _readings(visit: Visit, chosen: Range, account: str | None) -> Readings:
    accounts = visit.accounts(Right.LEAD)
    return Readings(accounts=accounts, account=account, since=chosen.since, until=chosen.until)


def _set(values: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
