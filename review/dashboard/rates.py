"""Shares with their goals: a plot of each, a sentence on the goal, and what misses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from db.figures.goals import FigureGoal, GoalMeasure
from db.figures.reach import FigureRow
from review.charts import plots
from review.charts.plots import Series
from review.dashboard.drawings import Cell, DashboardPlots, PlotTable, count_by
from review.figures.ranges import decisions_link
from review.languages import gettext as _
from review.languages import mark, ngettext
from review.words.decisions import amount, percent
from worker.model import DecisionKind
from worker.reasons import BLOCKED, FAILED

TITLES: Final[Mapping[GoalMeasure, str]] = {
    GoalMeasure.BLOCKED: mark("Block rate"),
    GoalMeasure.OVERTURNED: mark("Overturn rate"),
    GoalMeasure.ESCALATED: mark("Handed to people"),
    GoalMeasure.FAILED: mark("Silent failure rate"),
    GoalMeasure.ANSWERED_IN_TIME: mark("Escalations answered in time"),
}
Wording = Callable[[int], str]
"""The text of a number, in the reader's plural form."""


def _of_decisions(total: int) -> str:
    return ngettext("%(hits)s of %(total)s decision", "%(hits)s of %(total)s decisions", total)


BASES: Final[Mapping[GoalMeasure, Wording]] = {
    GoalMeasure.BLOCKED: _of_decisions,
    GoalMeasure.OVERTURNED: lambda total: ngettext(
        "%(hits)s of %(total)s reviewed decision", "%(hits)s of %(total)s reviewed decisions", total
    ),
    GoalMeasure.ESCALATED: _of_decisions,
    GoalMeasure.FAILED: _of_decisions,
    GoalMeasure.ANSWERED_IN_TIME: lambda total: ngettext(
        "%(hits)s of %(total)s escalation", "%(hits)s of %(total)s escalations", total
    ),
}
FILTERS: Final[Mapping[GoalMeasure, dict[str, str]]] = {
    GoalMeasure.BLOCKED: {"reason": "blocked"},
    GoalMeasure.OVERTURNED: {"review": "overturn"},
    GoalMeasure.ESCALATED: {"decision": "escalate"},
    GoalMeasure.FAILED: {"reason": "failed"},
}
"""Of the counted decisions; escalations have no list of a range."""
MISSED: Final[Mapping[bool, Wording]] = {
    False: lambda steps: ngettext(
        "Above the goal of %(goal)s in %(missed)s of %(steps)s period.",
        "Above the goal of %(goal)s in %(missed)s of %(steps)s periods.",
        steps,
    ),
    True: lambda steps: ngettext(
        "Below the goal of %(goal)s in %(missed)s of %(steps)s period.",
        "Below the goal of %(goal)s in %(missed)s of %(steps)s periods.",
        steps,
    ),
}
"""By whether the goal is a floor."""
KEPT: Final = mark("The goal of %(goal)s is kept in every period with figures.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCount:
    """Counts of one step, or of several."""

    hits: int = 0
    total: int = 0

    @property
    def share(self) -> float | None:
        """0..1; None where nothing was counted."""
        return self.hits / self.total if self.total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One share of a range.

    Attributes:
        basis: what the share was counted from, in words.
        goal_text: how often the goal was missed; empty without a goal or figures.
        missed: whether the whole range misses the goal.
        href: the decisions that are hits.
    """

    measure: GoalMeasure
    title: str
    whole: StepCount
    basis: str
    goal: FigureGoal | None
    goal_text: str
    missed: bool
    drawn: PlotTable
    href: str | None


def rate_counts(
    counts: Iterable[FigureRow], overturned: Iterable[FigureRow], answered: Iterable[FigureRow]
) -> dict[GoalMeasure, dict[datetime, StepCount]]:
    """Hits and totals by step of every measure."""
    rows = tuple(counts)
    totals = count_by(rows, lambda _row: "all")
    found: dict[GoalMeasure, dict[datetime, StepCount]] = {}
    for measure, is_hit in HITS.items():
        hits = count_by((row for row in rows if is_hit(row)), lambda _row: "all")
        found[measure] = {
            step: StepCount(hits=hits[step, name], total=total) for (step, name), total in totals.items()
        }
    for measure, steps in (
        (GoalMeasure.OVERTURNED, overturned),
        (GoalMeasure.ANSWERED_IN_TIME, answered),
    ):
        found[measure] = {row["step"]: StepCount(hits=row["hits"], total=row["total"]) for row in steps}
    return found


HITS: Final[Mapping[GoalMeasure, Callable[[FigureRow], bool]]] = {
    GoalMeasure.BLOCKED: lambda row: row["reason_code"] in BLOCKED,
    GoalMeasure.ESCALATED: lambda row: row["decision"] == DecisionKind.ESCALATE,
    GoalMeasure.FAILED: lambda row: row["reason_code"] in FAILED,
}


def draw_rates(
    plots_of: DashboardPlots,
    counts: Mapping[GoalMeasure, Mapping[datetime, StepCount]],
    goals: Mapping[GoalMeasure, FigureGoal],
) -> tuple[Rate, ...]:
    """The shares in the order of their measures."""
    return tuple(_rate(plots_of, measure, counts[measure], goals.get(measure)) for measure in GoalMeasure)


def _rate(
    plots_of: DashboardPlots,
    measure: GoalMeasure,
    steps: Mapping[datetime, StepCount],
    goal: FigureGoal | None,
) -> Rate:
    whole = StepCount(
        hits=sum(each.hits for each in steps.values()), total=sum(each.total for each in steps.values())
    )
    title = _(TITLES[measure])
    filters = FILTERS.get(measure)
    since, until = plots_of.chosen.since, plots_of.chosen.until
    return Rate(
        measure=measure,
        title=title,
        whole=whole,
        basis=BASES[measure](whole.total) % {"hits": amount(whole.hits), "total": amount(whole.total)},
        goal=goal,
        goal_text=_goal_text(goal, steps),
        missed=goal is not None and whole.share is not None and goal.missed(whole.share),
        drawn=_draw(plots_of, measure, title, steps, goal),
        href=decisions_link(since, until, **plots_of.filters, **filters) if filters and whole.hits else None,
    )


def _goal_text(goal: FigureGoal | None, steps: Mapping[datetime, StepCount]) -> str:
    """How many of the steps with figures miss the goal."""
    shares = [each.share for each in steps.values() if each.share is not None]
    if goal is None or not shares:
        return ""
    missed = sum(goal.missed(share) for share in shares)
    text = MISSED[goal.measure.is_floor](len(shares)) if missed else _(KEPT)
    return text % {"goal": percent(goal.share), "missed": missed, "steps": len(shares)}


def _draw(
    plots_of: DashboardPlots,
    measure: GoalMeasure,
    title: str,
    steps: Mapping[datetime, StepCount],
    goal: FigureGoal | None,
) -> PlotTable:
    chosen, filters = plots_of.chosen, FILTERS.get(measure)
    starts = plots_of.starts
    found = [steps.get(start, StepCount()) for start in starts]
    data = replace(
        plots_of.step_data(
            f"rate-{measure.value.replace('_', '-')}", title, _("Share in percent of each step")
        ),
        title=title,
        series=(Series(name=title, values=tuple(each.share for each in found)),),
        goal=None if goal is None else (goal.share, _("goal %(share)s") % {"share": percent(goal.share)}),
    )

    def row(start: datetime, name: str, each: StepCount) -> tuple[Cell, ...]:
        until = min(start + chosen.step, chosen.until)
        href = decisions_link(start, until, **plots_of.filters, **filters) if filters and each.hits else None
        return (
            Cell(text=name),
            Cell(text=percent(each.share), value=each.share),
            Cell(text=str(each.hits), href=href),
            Cell(text=str(each.total)),
        )

    def in_words(cells: Sequence[Cell]) -> str:
        rate, hits, total = (cell.text for cell in cells)
        return f"{rate} ({BASES[measure](int(total)) % {'hits': hits, 'total': total}})"

    rows = tuple(map(row, starts, data.steps, found))
    heads = (_("Time, UTC"), _("Share"), _("Counted"), _("Of"))
    return PlotTable(plot=plots.rate_lines(data), heads=heads, rows=rows, is_line=True, in_words=in_words)
