"""Loads what a lead reads beside the counts: goals, parts of a change, reviews, escalations, notes, costs."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from db.connection import Connection
from db.costs.report import CostFilter, CostKey, CostSum, load_costs
from db.customer_feedback.reading import ALL, FeedbackRate, feedback_rates
from db.figures.goals import GoalMeasure, load_goals
from db.figures.notes import load_happenings
from db.figures.parts import CountMeasure, PartCount, largest_parts
from db.figures.people_figures import count_answered, count_overturned, load_waiting
from db.figures.reach import FigureFilter, FigureRow
from db.reviews import queue_items
from review.dashboard.dashboard_view import LeadFigures
from review.dashboard.events import number_events
from review.http.visit import Visit

DEFAULT_WITHIN: Final = timedelta(hours=1)
"""When an answer to an escalation is late, where no goal says it."""


async def load_lead_figures(visit: Visit, figures: FigureFilter) -> LeadFigures:
    """Everything but the parts of the change."""
    async with visit.store.reading() as connection:
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
        goals = await load_goals(connection, figures.account)
        events = number_events(await load_happenings(connection, figures))
        waiting = await load_waiting(connection, figures)
    target = goals.get(GoalMeasure.ANSWERED_IN_TIME)
    within = timedelta(minutes=target.within_min or 0) if target else DEFAULT_WITHIN

    async def read(
        replica: Connection,
    ) -> tuple[tuple[FigureRow, ...], tuple[FigureRow, ...], FeedbackRate | None]:
        return (
            await count_overturned(replica, figures, hidden=hidden),
            await count_answered(replica, figures, within=within, now=visit.now),
            await _customers(replica, figures),
        )

    overturned, answered, customers = await visit.store.read_lists(read)
    return LeadFigures(
        goals=goals,
        overturned=overturned,
        answered=answered,
        within=within,
        waiting=waiting,
        events=events,
        costs=await _load_costs(visit, figures),
        customers=customers,
    )


async def _customers(replica: Connection, figures: FigureFilter) -> FeedbackRate | None:
    """Customers who rated AI replies of the range; a signal beside the rates, which rest on reviewers."""
    if figures.scope is not None:
        return None
    users = None if figures.chosen is None else tuple(figures.chosen)
    rates = await feedback_rates(
        replica, accounts=users, account=None, since=figures.since, until=figures.until
    )
    return next((each for each in rates if each.dimension == ALL), None)


async def load_parts(visit: Visit, figures: FigureFilter, measure: CountMeasure) -> tuple[PartCount, ...]:
    """The largest parts of the change of a measure."""
    return await visit.store.read_lists(
        lambda replica: largest_parts(replica, figures, measure, now=visit.now)
    )


async def _load_costs(visit: Visit, figures: FigureFilter) -> tuple[CostSum, ...] | None:
    """Costs are counted by whole days, without scopes."""
    if figures.scope is not None:
        return None
    users = None if figures.chosen is None else tuple(figures.chosen)
    days = CostFilter(accounts=users, since=(figures.since - figures.back).date(), until=figures.until.date())
    return await load_costs(visit.store.pool, days, (CostKey.DAY, CostKey.MODEL, CostKey.PURPOSE))
