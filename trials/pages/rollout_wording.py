"""Rollouts in plain words: measures, bounds, and what a comparison of both arms means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from review.languages import gettext as _
from review.languages import mark, ngettext
from review.languages.numbers import localized, plural_number
from review.words.decisions import duration_wording, percent, usd
from trials.pure.rollouts.bounds import (
    NO_SUMS,
    SHARES,
    Bound,
    BoundKind,
    BoundState,
    Measure,
    RolloutFigures,
    bound_state,
    compare_arms,
)
from trials.pure.rollouts.plan import plan_of
from trials.pure.statistics.sequential import LEAST_UNITS, Comparison, ComparisonVerdict
from trials.pure.trial import Trial

MEASURES: Final[Mapping[Measure, str]] = {
    Measure.OVERTURNS: mark("Overturned by reviewers"),
    Measure.ESCALATIONS: mark("Handed to people"),
    Measure.BLOCKS: mark("Blocked"),
    Measure.LATENCY: mark("Time to a decision"),
    Measure.COST: mark("Cost of a decision"),
}
ABOUT: Final[Mapping[Measure, str]] = {
    Measure.OVERTURNS: mark("From reviews of random samples, weighted by the chance of being drawn."),
    Measure.ESCALATIONS: mark("Share of the decisions that hand the conversation to people."),
    Measure.BLOCKS: mark("Share of the decisions that rules or moderation block."),
    Measure.LATENCY: mark("From the arrival of the message; 19 of 20 decisions are faster."),
    Measure.COST: mark("What models cost for one decision, as far as prices are known."),
}
BOUND_STATES: Final[Mapping[BoundState, str]] = {
    BoundState.TOO_FEW: mark("too few decisions"),
    BoundState.KEPT: mark("kept"),
    BoundState.LEFT: mark("exceeded"),
}
BOUND_BADGES: Final[Mapping[BoundState, str]] = {
    BoundState.TOO_FEW: "",
    BoundState.KEPT: "good",
    BoundState.LEFT: "bad",
}
TITLES: Final[Mapping[ComparisonVerdict, str]] = {
    ComparisonVerdict.TOO_FEW: mark("Too few conversations"),
    ComparisonVerdict.UNDECIDED: mark("Not decided"),
    ComparisonVerdict.LOWER: mark("Decided: lower with the candidate"),
    ComparisonVerdict.HIGHER: mark("Decided: higher with the candidate"),
}
MEANINGS: Final[Mapping[ComparisonVerdict, str]] = {
    ComparisonVerdict.TOO_FEW: mark("Wait, or give the candidate a larger share."),
    ComparisonVerdict.UNDECIDED: mark("The candidate may be better or worse. Wait, or end the rollout."),
    ComparisonVerdict.LOWER: mark(
        "If the change was made for this, give it a larger share or finish the rollout."
    ),
    ComparisonVerdict.HIGHER: mark("If the change was not made for this, return to the settings in force."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutResult:
    """The comparison of the declared metric.

    Attributes:
        live: the mean of the settings in force, in words; of the candidate beside it.
        interval: the bounds of the difference, in words; None while an arm is empty.
    """

    metric: Measure
    comparison: Comparison
    live: str
    candidate: str
    interval: tuple[str, str] | None

    @property
    def sentence(self) -> str:
        """Both arms and the difference."""
        if self.interval is None or self.comparison.missing:
            return _missing(self.comparison)
        text = _("%(candidate)s with the candidate, %(live)s with the settings in force.")
        return text % {"candidate": self.candidate, "live": self.live}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureLine:
    """One measure of both arms; ``state`` is None without a bound."""

    measure: Measure
    live: str
    live_counted: int
    candidate: str
    candidate_counted: int
    bound: str
    state: BoundState | None


def figure_wording(measure: Measure, figure: float) -> str:
    """A figure with its unit."""
    if measure in SHARES:
        return percent(figure)
    return duration_wording(figure / 1000) if measure is Measure.LATENCY else usd(figure)


def difference_wording(measure: Measure, difference: float) -> str:
    """A difference with its sign and unit."""
    if measure in SHARES:
        return _("%(points)s points") % {"points": localized(f"{difference * 100:+.1f}")}
    sign = "−" if difference < 0 else "+"
    return sign + figure_wording(measure, abs(difference))


def bound_wording(bound: Bound) -> str:
    """The largest figure of the candidate, as the end of a sentence about it."""
    if bound.kind is BoundKind.TIMES:
        times = {"times": localized(f"{bound.limit:g}")}
        text = ngettext(
            "at most %(times)s time that of the settings in force",
            "at most %(times)s times that of the settings in force",
            plural_number(bound.limit),
        )
        return text % times
    if bound.kind is BoundKind.ABSOLUTE:
        return _("at most %(limit)s") % {"limit": figure_wording(bound.measure, bound.limit)}
    if bound.measure in SHARES:
        points = {"points": localized(f"{bound.limit * 100:g}")}
        text = ngettext(
            "at most %(points)s percentage point above the settings in force",
            "at most %(points)s percentage points above the settings in force",
            plural_number(bound.limit * 100),
        )
        return text % points
    more = {"limit": figure_wording(bound.measure, bound.limit)}
    return _("at most %(limit)s above the settings in force") % more


def measure_lines(rollout: Trial, figures: RolloutFigures) -> tuple[MeasureLine, ...]:
    """Every measure, with its bound where the rollout declared one."""
    plan = plan_of(rollout)
    bounds = {bound.measure: bound for bound in plan.bounds}
    return tuple(_line(each, bounds.get(each), figures, plan.least) for each in Measure)


def broken_lines(rollout: Trial, figures: RolloutFigures) -> tuple[MeasureLine, ...]:
    """The measures whose bound the candidate had left."""
    return tuple(each for each in measure_lines(rollout, figures) if each.state is BoundState.LEFT)


def rollout_result(rollout: Trial, figures: RolloutFigures) -> RolloutResult:
    """What both arms say about the declared metric."""
    plan = plan_of(rollout)
    metric, found = plan.metric, compare_arms(plan.metric, figures, planned=plan.planned)
    means = [arm.sums.get(metric, NO_SUMS) for arm in (figures.live, figures.candidate)]
    live, candidate = (figure_wording(metric, each.hits / each.size) if each.size else "–" for each in means)
    low, high = (
        (difference_wording(metric, each) for each in (found.low, found.high))
        if all(each.units for each in means)
        else ("", "")
    )
    interval = (low, high) if low else None
    return RolloutResult(metric=metric, comparison=found, live=live, candidate=candidate, interval=interval)


def _line(measure: Measure, bound: Bound | None, figures: RolloutFigures, least: int) -> MeasureLine:
    live, candidate = figures.live, figures.candidate
    return MeasureLine(
        measure=measure,
        live=figure_wording(measure, live.figure(measure)) if live.counted(measure) else "–",
        live_counted=live.counted(measure),
        candidate=figure_wording(measure, candidate.figure(measure)) if candidate.counted(measure) else "–",
        candidate_counted=candidate.counted(measure),
        bound=bound_wording(bound) if bound else "",
        state=bound_state(bound, figures, least=least) if bound else None,
    )


def _missing(found: Comparison) -> str:
    text = ngettext(
        "Each arm needs %(least)s conversations with this figure; %(num)s more is needed.",
        "Each arm needs %(least)s conversations with this figure; %(num)s more are needed.",
        found.missing,
    )
    return text % {"least": LEAST_UNITS, "num": found.missing}
