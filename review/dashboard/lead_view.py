"""The whole dashboard as values for its template and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from db.costs.report import Spender
from db.figures.answers import OutcomeCount
from db.figures.dashboard import DashboardFigures
from db.figures.reach import FigureRow
from db.figures.rejections import RejectionCount
from review.dashboard.contributions import ChangeView
from review.dashboard.costs_view import cost_tile, draw_costs
from review.dashboard.dashboard_view import DashboardView
from review.dashboard.drawings import DashboardPlots, PlotTable
from review.dashboard.lead_figures import LeadFigures
from review.dashboard.rates import Rate, draw_rates, rate_counts
from review.dashboard.tiles import Tile
from review.dashboard.today import Concern, concerns


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDashboard:
    """Everything on the page except its form and the reviewer's queues."""

    view: DashboardView
    found: DashboardFigures
    lead: LeadFigures
    change: ChangeView | None
    rates: tuple[Rate, ...]
    cost: Tile | None
    plots: tuple[PlotTable, ...]
    concerns: tuple[Concern, ...]
    accounts: tuple[FigureRow, ...]
    rejections: tuple[RejectionCount, ...]
    answers: tuple[OutcomeCount, ...]
    spenders: tuple[Spender, ...]

    @property
    def drawn(self) -> tuple[PlotTable, ...]:
        """Every plot of the page."""
        return (*(each.drawn for each in self.rates), *self.plots)


def assemble(
    *,
    view: DashboardView,
    found: DashboardFigures,
    lead: LeadFigures,
    change: ChangeView | None,
    accounts: tuple[FigureRow, ...],
    rejections: tuple[RejectionCount, ...],
    answers: tuple[OutcomeCount, ...],
    spenders: Sequence[Spender],
    plots: DashboardPlots,
    now: datetime,
) -> LoadedDashboard:
    """Draw the shares and costs, and find what is wrong."""
    rates = draw_rates(plots, rate_counts(found.counts, lead.overturned, lead.answered), lead.goals)
    costs, chosen = lead.costs, plots.chosen
    wrong = concerns(
        rates,
        view.figures,
        lead.waiting,
        spenders,
        within=lead.within,
        now=now,
        chosen=chosen,
        filters=plots.filters,
    )
    return LoadedDashboard(
        view=view,
        found=found,
        lead=lead,
        change=change,
        rates=rates,
        cost=cost_tile(costs, chosen) if costs else None,
        plots=(*view.plots, *((draw_costs(costs, chosen),) if costs else ())),
        concerns=wrong,
        accounts=accounts,
        rejections=rejections,
        answers=answers,
        spenders=tuple(spenders),
    )
