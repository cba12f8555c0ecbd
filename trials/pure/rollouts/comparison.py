"""What a rollout has shown about its metric, in numbers that are valid at every look."""

from __future__ import annotations

from typing import Final

from trials.pure.rollouts.bounds import NO_SUMS, Measure, RolloutFigures
from trials.pure.statistics.sequential import (
    Comparison,
    ComparisonVerdict,
    compare,
    mean_of_clusters,
    share_of_clusters,
)

SHARES: Final = frozenset({Measure.OVERTURNS, Measure.ESCALATIONS, Measure.BLOCKS})
"""Measures that are shares; the others are means of a decision."""
MEANINGS: Final = {
    ComparisonVerdict.TOO_FEW: "Too few conversations to say anything.",
    ComparisonVerdict.UNDECIDED: "Not decided: both signs of the difference are possible.",
    ComparisonVerdict.LOWER: "Decided: the candidate's figure is lower.",
    ComparisonVerdict.HIGHER: "Decided: the candidate's figure is higher.",
}


def compare_arms(metric: Measure, figures: RolloutFigures, *, planned: int) -> Comparison:
    """The metric of the candidate less that of the live settings; of latency the means are compared.

    ``planned`` is how many conversations of both arms were planned when the rollout began.
    """
    arm = share_of_clusters if metric in SHARES else mean_of_clusters
    live, candidate = (each.sums.get(metric, NO_SUMS) for each in (figures.live, figures.candidate))
    return compare(arm(live), arm(candidate), planned_units=planned)
