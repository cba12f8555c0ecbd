"""The dashboard: figures of decisions and runs in a time range and the range before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.connection import Connection
from db.costs.report import load_spenders
from db.figures import dashboard
from db.figures.answers import OutcomeCount, answer_figures, in_total
from db.figures.dashboard import DashboardFigures
from db.figures.parts import CountMeasure
from db.figures.reach import FigureFilter
from db.figures.rejections import RejectionCount, rejection_counts
from db.people.records import EVERY_ACCOUNT
from review.access import Right
from review.dashboard import figure_counter, rates
from review.dashboard.contributions import change_view, largest_change
from review.dashboard.dashboard_view import DashboardView, build_view, compare_figures
from review.dashboard.drawings import DashboardPlots
from review.dashboard.lead_figures import load_lead_figures, load_parts
from review.figures import ranges
from review.figures.ranges import BadRange, Range
from review.figures.reused import Counted
from review.http.visit import Visit
from review.languages import gettext as _
from review.languages.reader import reader
from worker.model import Scope

DashboardOutcomes: TypeAlias = tuple[tuple[RejectionCount, ...], tuple[OutcomeCount, ...]]
"""Rejections by reason, and what became of the answers of people."""
SPENDERS: Final = 10
"""Accounts in the table of costs: those that spent most this month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardQuery:
    """What a URL asks of the dashboard; without a measure, the measure that changed most."""

    chosen: Range
    figures: FigureFilter
    measure: CountMeasure | None

    @property
    def filters(self) -> dict[str, str]:
        """Account and scope as parameters; those that are chosen."""
        found = {"account": self.figures.account, "scope": self.figures.scope}
        return {name: value for name, value in found.items() if value}

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the page's URL."""
        measure = {} if self.measure is None else {"measure": self.measure.value}
        return self.chosen.query | self.filters | measure


async def show_dashboard(visit: Visit) -> Response:
    """The page; an unusable range or scope is reported, and the last 24 hours are shown."""
    problem = ""
    try:
        query = parse_page_query(visit, visit.request.query_params)
    except BadRange as bad:
        problem = str(bad)
        query = parse_page_query(visit, {})
    chosen, figures = query.chosen, query.figures
    counted = await load_dashboard(visit, query)
    shown = counted.value
    suggestions = shown.accounts
    if figures.account is not None:
        suggestions = await visit.store.read_lists(
            lambda connection: dashboard.busiest_accounts(connection, figure_filter(visit, chosen))
        )
    text = urlencode(query.parameters)
    if not visit.partial or visit.note_reading(f"dashboard {text}"):
        await visit.log(LoggedAction.FIGURES, user_id=figures.account, detail=range_log_detail(chosen))
    return visit.render(
        "dashboard.html",
        status=400 if problem else 200,
        problem=problem,
        chosen=chosen,
        filters={"account": "", "scope": ""} | query.filters,
        titles=ranges.TITLES,
        scopes=tuple(Scope),
        shown=shown,
        counted_at=counted.at if counted.at != visit.now else None,
        suggestions=suggestions,
        page_query=text,
        may_set=visit.may(Right.LEAD, figures.account or EVERY_ACCOUNT),
        measures=rates.TITLES,
        goal_account=figures.account or "",
        link=lambda tile: tile.link(chosen, query.filters),
        with_query=lambda **changes: "?" + urlencode(query.parameters | changes),
        figure_file=lambda key, kind: f"/dashboard/figures/{key}.{kind}?{text}",
        decisions=lambda **more: ranges.range_link(chosen, **(query.filters | more)),
    )


async def load_dashboard(visit: Visit, query: DashboardQuery) -> Counted[DashboardView]:
    """Everything that the page shows and its files contain."""
    figures, person = query.figures, reader.get()
    key = ("dashboard", *sorted(query.parameters.items()), figures.since, tuple(figures.users),
           person.language, person.zone)  # fmt: skip
    return await visit.site.reused_figures.get(key, visit.now, lambda: _load(visit, query))


async def _load(visit: Visit, query: DashboardQuery) -> DashboardView:
    chosen, figures = query.chosen, query.figures
    found = await load_figures(visit, figures)
    lead = await load_lead_figures(visit, figures)
    rejections, answers = await load_outcomes(visit, figures)
    compared = compare_figures(found)
    change = None
    if compared.before is not None:
        # the parts are counted by what the AI decided, and so is their sum
        decided = compare_figures(replace(found, answered=(), answered_before=()))
        measure = query.measure or largest_change(decided)
        parts = await load_parts(visit, figures, measure)
        change = change_view(parts, decided, measure, chosen, query.filters)
    return build_view(
        DashboardPlots(found, chosen, query.filters, lead.events),
        compared,
        lead,
        change=change,
        accounts=await visit.store.read_lists(
            lambda connection: dashboard.busiest_accounts(connection, figures)
        ),
        rejections=rejections,
        answers=answers,
        spenders=await load_spenders(visit.store.pool, figures.chosen, visit.now.date(), limit=SPENDERS),
        now=visit.now,
    )


def parse_page_query(visit: Visit, parameters: Mapping[str, str]) -> DashboardQuery:
    """The query of the page and of its files; raises as ``parse_dashboard_query``."""
    chosen, figures = parse_dashboard_query(visit, parameters)
    measure = parameters.get("measure", "").strip() or None
    if measure is not None and measure not in list(CountMeasure):
        text = _("measure: expected one of %(known)s, got “%(got)s”")
        raise BadRange(text % {"known": ", ".join(CountMeasure), "got": measure[:40]})
    return DashboardQuery(chosen=chosen, figures=figures, measure=CountMeasure(measure) if measure else None)


def parse_dashboard_query(visit: Visit, parameters: Mapping[str, str]) -> tuple[Range, FigureFilter]:
    """The range and filter of a URL's parameters, restricted to what the person may see.

    Raises:
        BadRange: a value is not usable.
        Refused: 404, the person may not see the account.
    """
    values = {name: value.strip() for name, value in parameters.items()}
    chosen = ranges.parse_range(values, visit.now)
    scope, account = values.get("scope") or None, values.get("account") or None
    if scope is not None and scope not in list(Scope):
        text = _("scope: expected one of %(known)s, got “%(got)s”")
        raise BadRange(text % {"known": ", ".join(Scope), "got": scope[:40]})
    if account is not None:
        visit.require(Right.VIEW, account)
    return chosen, figure_filter(visit, chosen, account=account, scope=scope)


def figure_filter(
    visit: Visit, chosen: Range, *, account: str | None = None, scope: str | None = None
) -> FigureFilter:
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


async def load_figures(visit: Visit, figures: FigureFilter) -> DashboardFigures:
    """The figures; waits at most half a second for hours that are not counted yet."""
    found = await visit.store.read_lists(
        lambda connection: dashboard.load_figures(connection, figures, now=visit.now)
    )
    if not (found.missing or found.missing_before):
        return found
    await figure_counter.catch_up(visit.site)
    async with visit.store.reading() as connection:  # a replica may not have these hours yet
        return await dashboard.load_figures(connection, figures, now=visit.now)


async def load_outcomes(visit: Visit, figures: FigureFilter) -> DashboardOutcomes:
    """Rejections by reason, and what became of the answers of people."""

    async def load(connection: Connection) -> DashboardOutcomes:
        rejections = await rejection_counts(connection, figures)
        span = {"since": figures.since, "until": figures.until}
        found = await answer_figures(connection, users=figures.chosen, scope=figures.scope, **span)
        return rejections, in_total(found)

    return await visit.store.read_lists(load)


def range_log_detail(chosen: Range) -> dict[str, str]:
    """The access log's detail for a range."""
    return {"since": chosen.since.isoformat(), "until": chosen.until.isoformat()}
