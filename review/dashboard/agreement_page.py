"""The agreement page: how often people agree with a rule, a reason or each other."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.figures import agreement
from db.figures.agreement import Basis, ReviewSelection
from db.reviews import queue_items
from review.access import Right
from review.dashboard import figure_links, ranges
from review.dashboard.agreement_view import SORTS, AgreementTables, agreement_tables
from review.dashboard.measures import ENOUGH_PAIRS
from review.dashboard.ranges import BadRange, Range
from review.http.visit import Visit

LOOK_BACK: Final = timedelta(days=366)
"""How far before the range the links search: a decision may be older than its review."""
BASES: Final = {
    Basis.SAMPLED: ("Sampled", "drawn at random for a queue: they represent the unread decisions too"),
    Basis.ESCALATIONS: ("Escalations", "handed to people by the system: they represent escalations only"),
    Basis.CHOSEN: ("Chosen", "picked by a reviewer: they represent no other decisions"),
    Basis.BULK: (
        "Bulk",
        "one ruling on many decisions at once: not independent, so intervals are too narrow",
    ),
}


async def show_agreement(visit: Visit) -> Response:
    """The page; an unusable query is reported, and the last 30 days are shown."""
    problem = ""
    try:
        chosen, readings, basis, sort = parse_agreement_query(visit)
    except BadRange as bad:
        problem = str(bad)
        chosen, readings, basis, sort = _default_query(visit)
    counted, basis, found = await load_agreement(visit, readings, basis, sort)
    query = chosen.query | {"account": readings.account or "", "basis": basis, "sort": sort}
    await visit.log(LoggedAction.FIGURES, user_id=readings.account, detail={"agreement": basis})
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
        link=lambda **changes: "?" + urlencode(query | changes),
        decisions=lambda **filters: figure_links.decisions_link(
            chosen.since - LOOK_BACK, chosen.until, account=readings.account, **filters
        ),
    )


async def load_agreement(
    visit: Visit, readings: ReviewSelection, basis: Basis | None, sort: str
) -> tuple[dict[str, int], Basis, AgreementTables]:
    """Counts by basis, the basis shown (by default the first with reviews), its tables."""
    async with visit.store.reading() as connection:
        readings = replace(
            readings, hidden=await queue_items.hidden_decisions(connection, visit.person.person_id)
        )
        counted = await agreement.counts_by_basis(connection, readings)
        basis = basis or next((each for each in Basis if counted.get(each)), Basis.SAMPLED)
        found = await agreement.count_agreement(connection, readings, basis)
    return counted, basis, agreement_tables(found, sort)


def parse_agreement_query(visit: Visit) -> tuple[Range, ReviewSelection, Basis | None, str]:
    """The query of the URL, restricted to the accounts that the person leads.

    Raises:
        BadRange: a value is not usable.
        Refused: 403 or 404, the person may not see or lead the account.
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


def _default_query(visit: Visit) -> tuple[Range, ReviewSelection, Basis | None, str]:
    chosen = ranges.range_of({"range": "30d"}, visit.now)
    return chosen, _readings(visit, chosen, None), None, SORTS[0]


def _readings(visit: Visit, chosen: Range, account: str | None) -> ReviewSelection:
    accounts = visit.accounts(Right.LEAD)
    return ReviewSelection(accounts=accounts, account=account, since=chosen.since, until=chosen.until)


def _set(values: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
