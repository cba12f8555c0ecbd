"""Whether measured confidence is kept: bins of a reliability diagram and the expected calibration error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from worker.statistics.shares import Observation, Share, checked, weighted_share

BINS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """Observations of similar score.

    Attributes:
        low: 0..1, the least score of the bin; its end is the next bin's ``low``, the last includes 1.
        high: 0..1.
        score: 0..1, the weighted mean of the scores.
        hits: the weighted share of hits with its interval.
        weight: 0..1, of all observations.
    """

    low: float
    high: float
    score: float
    hits: Share
    weight: float


def reliability_bins(observations: Iterable[Observation], bins: int = BINS) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width that have observations, least score first.

    Raises:
        SampleRejected: a weight is negative or not finite, or all are 0.
    """
    held: list[list[Observation]] = [[] for _ in range(bins)]
    for each in checked(observations):
        held[min(bins - 1, int(each.score * bins))].append(each)
    total = math.fsum(each.weight for of_bin in held for each in of_bin)
    return tuple(_bin(number, bins, of_bin, total) for number, of_bin in enumerate(held) if of_bin)


def calibration_error(bins: Sequence[ReliabilityBin]) -> float | None:
    """The expected calibration error, 0..1; None without observations.

    The weighted mean over bins of the distance between mean score and share of hits: M. P. Naeini, G. F.
    Cooper and M. Hauskrecht, AAAI 2015; C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, ICML 2017.
    """
    if not bins:
        return None
    return math.fsum(each.weight * abs(each.score - each.hits.share) for each in bins)


def _bin(number: int, bins: int, held: Sequence[Observation], total: float) -> ReliabilityBin:
    weight = math.fsum(each.weight for each in held)
    hits = weighted_share(held)
    assert hits is not None  # none of the bins is empty
    return ReliabilityBin(
        low=number / bins,
        high=(number + 1) / bins,
        score=math.fsum(each.weight * each.score for each in held) / weight,
        hits=hits,
        weight=weight / total,
    )
