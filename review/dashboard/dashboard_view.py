"""The dashboard as values for its template and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from db.costs.report import CostSum, Spender
from db.customer_feedback.reading import FeedbackRate
from db.figures.answers import OutcomeCount
from db.figures.dashboard import DashboardFigures
from db.figures.goals import FigureGoal, GoalMeasure
from db.figures.histograms import SpreadKind
from db.figures.people_figures import WaitingEscalations
from db.figures.reach import FigureRow
from db.figures.rejections import RejectionCount
from review.dashboard import tiles
from review.dashboard.contributions import ChangeView
from review.dashboard.drawings import DashboardPlots, PlotTable
from review.dashboard.events import NumberedEvent
from review.dashboard.rates import Rate, draw_rates, rate_counts
from review.dashboard.tiles import Compared, FigureChange, Tile, relative_change
from review.dashboard.today import Concern, concerns
from review.figures.ranges import range_link
from review.figures.summary import summarise, time_percentiles
from review.languages import gettext as _
from worker.model import DecisionKind

TIMES: Final = (
    (SpreadKind.TOTAL, None),
    (SpreadKind.TOTAL, DecisionKind.RESPOND),
    (SpreadKind.WAITING, None),
)
"""Kind of time and decision of each tile with percentiles; ignored messages, decided sooner, hide replies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadFigures:
    """What people did, what is wanted, and what happened.

    Attributes:
        overturned: time step, overturned decisions, agreed or overturned decisions.
        answered: step, hits, total.
        within: when an answer to an escalation is late.
        customers: what customers said of AI replies; None without feedback, and where a scope is chosen.
        costs: by day, model and purpose, of the range and of the range before; None where a scope is chosen.
    """

    goals: Mapping[GoalMeasure, FigureGoal]
    overturned: tuple[FigureRow, ...]
    answered: tuple[FigureRow, ...]
    within: timedelta
    waiting: WaitingEscalations
    events: tuple[NumberedEvent, ...]
    costs: tuple[CostSum, ...] | None
    customers: FeedbackRate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonLine:
    """One reason in the table of reasons."""

    reason: str
    events: int
    share: float
    change: FigureChange | None
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardView:
    """Everything on the page except its form and the change, which has a measure of its own."""

    figures: Compared
    found: DashboardFigures
    lead: LeadFigures
    decided: tuple[Tile, ...]
    ran: tuple[Tile, ...]
    cost: Tile | None
    rates: tuple[Rate, ...]
    plots: tuple[PlotTable, ...]
    concerns: tuple[Concern, ...]
    reasons: tuple[ReasonLine, ...]
    change: ChangeView | None
    accounts: tuple[FigureRow, ...]
    rejections: tuple[RejectionCount, ...]
    answers: tuple[OutcomeCount, ...]
    spenders: tuple[Spender, ...]

    @property
    def drawn(self) -> tuple[PlotTable, ...]:
        """Every plot of the page."""
        return (*(each.drawn for each in self.rates), *self.plots)

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Every tile but the rates."""
        return (*self.decided, *self.ran, *((self.cost,) if self.cost else ()))


def build_view(
    plots: DashboardPlots,
    compared: Compared,
    lead: LeadFigures,
    *,
    change: ChangeView | None,
    accounts: tuple[FigureRow, ...],
    rejections: tuple[RejectionCount, ...],
    answers: tuple[OutcomeCount, ...],
    spenders: Sequence[Spender],
    now: datetime,
) -> DashboardView:
    """Draw the figures, and find what is wrong."""
    found, chosen, costs = plots.found, plots.chosen, lead.costs
    total, replied, waiting = (
        (time_percentiles(found.spreads, *each), time_percentiles(found.before_spreads, *each))
        for each in TIMES
    )
    rates = draw_rates(plots, rate_counts(found.counts, lead.overturned, lead.answered), lead.goals)
    return DashboardView(
        figures=compared,
        found=found,
        lead=lead,
        decided=tiles.decision_tiles(compared),
        ran=tiles.run_tiles(compared, total, replied, waiting),
        cost=tiles.cost_tile(costs, chosen) if costs else None,
        rates=rates,
        plots=(
            plots.decisions(),
            plots.time_percentiles(SpreadKind.TOTAL, _("Time to a decision")),
            plots.time_percentiles(SpreadKind.WAITING, _("Waiting before work")),
            plots.confidence(),
            plots.mean_confidence(),
            *((plots.mean_confidence_by_label(),) if found.labels else ()),
            *((plots.costs(costs),) if costs else ()),
        ),
        concerns=concerns(
            rates,
            compared,
            lead.waiting,
            spenders,
            within=lead.within,
            now=now,
            chosen=chosen,
            filters=plots.filters,
        ),
        reasons=_reasons(plots, compared),
        change=change,
        accounts=accounts,
        rejections=rejections,
        answers=answers,
        spenders=tuple(spenders),
    )


def compare_figures(found: DashboardFigures) -> Compared:
    """The figures beside the figures of the range before, if that range has any."""
    before = None if found.missing_before else summarise(found.before, found.answered_before)
    return Compared(
        now=summarise(found.counts, found.answered),
        whole=summarise(
            (row for row in found.counts if not row["open"]),
            (row for row in found.answered if not row["open"]),
        ),
        before=before if before is not None and before.decisions else None,
    )


def _reasons(plots: DashboardPlots, compared: Compared) -> tuple[ReasonLine, ...]:
    """Every reason that occurred, now or before, most frequent first."""
    before = compared.before.by_reason if compared.before else {}
    now, whole = compared.now.by_reason, compared.whole.by_reason
    return tuple(
        ReasonLine(
            reason=reason,
            events=now.get(reason, 0),
            share=now.get(reason, 0) / max(1, compared.now.decisions),
            change=relative_change(whole.get(reason, 0), before.get(reason, 0)) if compared.before else None,
            href=range_link(plots.chosen, **plots.filters, reason=reason),
        )
        for reason in [*now, *(each for each in before if each not in now)]
    )
