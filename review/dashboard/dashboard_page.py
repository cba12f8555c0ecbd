"""The dashboard: figures of decisions and runs in a time range and the range before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.figures import dashboard
from db.figures.dashboard import DashboardFigures, FigureFilter
from review.access import Right
from review.dashboard import figure_counter, figure_links, ranges
from review.dashboard.dashboard_view import build_view
from review.dashboard.drawings import DashboardPlots
from review.dashboard.ranges import BadRange, Range
from review.dashboard.tiles import Tile
from review.http.visit import Visit
from review.queues.queue_loads import list_open_queues
from worker.model import Scope


async def show_dashboard(visit: Visit) -> Response:
    """The page; an unusable range or scope is reported, and the last 24 hours are shown."""
    problem = ""
    try:
        chosen, question = parse_dashboard_query(visit)
    except BadRange as bad:
        problem = str(bad)
        chosen = ranges.range_of({}, visit.now)
        question = figure_filter(visit, chosen, account=None, scope=None)
    found = await load_figures(visit, question)
    async with visit.store.reading() as connection:
        accounts = await dashboard.busiest_accounts(connection, question)
        queues = await list_open_queues(visit, connection)
        known = accounts
        if question.account is not None:
            known = await dashboard.busiest_accounts(
                connection, figure_filter(visit, chosen, account=None, scope=None)
            )
    kept = {"account": question.account or "", "scope": question.scope or ""}
    await visit.log(LoggedAction.FIGURES, user_id=question.account, detail=range_log_detail(chosen))
    return visit.render(
        "dashboard.html",
        status=400 if problem else 200,
        problem=problem,
        chosen=chosen,
        asked=visit.request.query_params,
        kept=kept,
        titles=ranges.TITLES,
        scopes=tuple(Scope),
        view=build_view(DashboardPlots(found, chosen, kept)),
        found=found,
        accounts=accounts,
        queues=queues,
        known=known,
        of_account=_account_link(chosen, kept),
        decisions=lambda **filters: figure_links.range_link(chosen, **(kept | filters)),
        link=_link(chosen, kept),
    )


def parse_dashboard_query(visit: Visit) -> tuple[Range, FigureFilter]:
    """The query of the URL, restricted to what the person may see.

    Raises:
        BadRange: a value is not usable.
        Refused: 404, the person may not see the account.
    """
    values = {name: value.strip() for name, value in visit.request.query_params.items()}
    chosen = ranges.range_of(values, visit.now)
    scope, account = values.get("scope") or None, values.get("account") or None
    if scope is not None and scope not in list(Scope):
        raise BadRange(f"scope: expected one of {', '.join(Scope)}, got {scope[:40]!r}")
    if account is not None:
        visit.require(Right.VIEW, account)
    return chosen, figure_filter(visit, chosen, account=account, scope=scope)


def figure_filter(visit: Visit, chosen: Range, *, account: str | None, scope: str | None) -> FigureFilter:
    """The filter for the decisions of a range that the person may see."""
    return FigureFilter(
        accounts=visit.accounts(Right.VIEW),
        account=account,
        scope=scope,
        since=chosen.since,
        until=chosen.until,
        step=chosen.step,
        back=chosen.back,
    )


async def load_figures(visit: Visit, question: FigureFilter) -> DashboardFigures:
    """The figures; waits at most half a second for hours that are not counted yet."""
    async with visit.store.reading() as connection:
        found = await dashboard.load_figures(connection, question, now=visit.now)
    if not (found.missing or found.missing_before):
        return found
    await figure_counter.catch_up(visit.site)
    async with visit.store.reading() as connection:
        return await dashboard.load_figures(connection, question, now=visit.now)


def range_log_detail(chosen: Range) -> dict[str, str]:
    """The access log's detail for a range."""
    return {"since": chosen.since.isoformat(), "until": chosen.until.isoformat()}


def _link(chosen: Range, kept: Mapping[str, str]) -> Callable[[Tile], str | None]:
    """Links to the decisions of a figure, where a filter of the list selects exactly these."""
    return lambda tile: (
        None if tile.filters is None else figure_links.range_link(chosen, **kept, **tile.filters)
    )


def _account_link(chosen: Range, kept: Mapping[str, str]) -> Callable[[str], str]:
    """Links to this page for one account, with the other filters unchanged."""
    query = chosen.query | {name: value for name, value in kept.items() if value}
    return lambda account: "?" + urlencode(query | {"account": account})
