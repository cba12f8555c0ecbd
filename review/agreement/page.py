"""The agreement page: how often people agree with a rule, a reason or each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, TypeAlias
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.figures import agreement
from db.figures.agreement import Basis, ReviewSelection
from db.reviews import queue_items
from review.access import Right
from review.agreement.kappa import ENOUGH_PAIRS
from review.agreement.tables import SORTS, AgreementTables, agreement_tables
from review.figures import ranges
from review.figures.ranges import BadRange, Range, not_of_list
from review.figures.reused import Counted
from review.http.visit import Visit
from review.languages import mark


@dataclass(frozen=True, slots=True, kw_only=True)
class BasisWords:
    """A basis as a choice, and what its reviews represent."""

    title: str
    about: str


MOST_LINES: Final = 100
"""Lines of a table; a link shows the others."""
CountedAgreement: TypeAlias = tuple[dict[str, int], Basis, AgreementTables]
LOOK_BACK: Final = timedelta(days=366)
"""How far before the range the links search: a decision may be older than its review."""
BASES: Final[Mapping[Basis, BasisWords]] = {
    Basis.SAMPLED: BasisWords(
        title=mark("Sampled"),
        about=mark("Drawn at random for a queue: they represent the unread decisions too."),
    ),
    Basis.ESCALATIONS: BasisWords(
        title=mark("Escalations"),
        about=mark("Handed to people by the system: they represent escalations only."),
    ),
    Basis.CHOSEN: BasisWords(
        title=mark("Chosen"), about=mark("Picked by a reviewer: they represent no other decisions.")
    ),
    Basis.BULK: BasisWords(
        title=mark("Bulk"),
        about=mark("One ruling on many decisions at once: not independent, so intervals are too narrow."),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementQuery:
    """What a URL asks of the agreement figures; without a basis, the first that has reviews."""

    chosen: Range
    reviews: ReviewSelection
    basis: Basis | None
    sort: str


async def show_agreement(visit: Visit) -> Response:
    """The page; an unusable query is reported, and the last 30 days are shown."""
    problem = ""
    try:
        query = parse_agreement_query(visit, visit.request.query_params)
    except BadRange as bad:
        problem, query = str(bad), parse_agreement_query(visit, {})
    counted = await load_agreement(visit, query)
    counts, basis, tables = counted.value
    chosen, account = query.chosen, query.reviews.account
    parameters = chosen.query | {"account": account or "", "basis": basis, "sort": query.sort}
    await visit.log(LoggedAction.FIGURES, user_id=account, detail={"agreement": basis})
    return visit.render(
        "agreement.html",
        status=400 if problem else 200,
        problem=problem,
        chosen=chosen,
        account=account or "",
        basis=basis,
        bases=BASES,
        counts=counts,
        tables=tables,
        most=None if "all" in visit.request.query_params else MOST_LINES,
        counted_at=counted.at if counted.at != visit.now else None,
        sort=query.sort,
        titles=ranges.TITLES,
        enough=ENOUGH_PAIRS,
        link=lambda **changes: "?" + urlencode(parameters | changes),
        decisions=lambda **filters: ranges.decisions_link(
            chosen.since - LOOK_BACK, chosen.until, account=account, **filters
        ),
    )


async def load_agreement(visit: Visit, query: AgreementQuery) -> Counted[CountedAgreement]:
    """Numbers of reviews by basis, the basis shown, and its tables."""
    async with visit.store.reading() as connection:
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    reviews = replace(query.reviews, hidden=hidden)
    chosen = tuple(sorted(query.chosen.query.items()))
    key = ("agreement", chosen, reviews.accounts, reviews.account, hidden, query.basis, query.sort)
    return await visit.site.reused_figures.get(key, visit.now, lambda: _count(visit, query, reviews))


async def _count(visit: Visit, query: AgreementQuery, reviews: ReviewSelection) -> CountedAgreement:
    counts = await visit.store.read_lists(lambda replica: agreement.counts_by_basis(replica, reviews))
    basis = query.basis or next((each for each in Basis if counts.get(each)), Basis.SAMPLED)
    found = await visit.store.read_lists(lambda replica: agreement.count_agreement(replica, reviews, basis))
    return counts, basis, agreement_tables(found, query.sort)


def parse_agreement_query(visit: Visit, parameters: Mapping[str, str]) -> AgreementQuery:
    """The query of a URL's parameters, restricted to the accounts that the person leads.

    Raises:
        BadRange: a value is not usable.
        Refused: 403 or 404, the person may not see or lead the account.
    """
    values = {name: value.strip() for name, value in parameters.items() if value.strip()}
    chosen = ranges.parse_range(values, visit.now, default=ranges.MONTH)
    basis, sort, account = values.get("basis"), values.get("sort", "reviews"), values.get("account")
    if basis is not None and basis not in list(Basis):
        raise BadRange(not_of_list("basis", Basis, basis))
    if sort not in SORTS:
        raise BadRange(not_of_list("sort", SORTS, sort))
    if account is not None:
        visit.require(Right.LEAD, account)
    reviews = ReviewSelection(
        accounts=visit.accounts(Right.LEAD), account=account, since=chosen.since, until=chosen.until
    )
    return AgreementQuery(chosen=chosen, reviews=reviews, basis=Basis(basis) if basis else None, sort=sort)
