"""The lowest threshold at which a wanted precision is certified, from a weighted sample.

Conformal risk control as Learn Then Test: A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and
L. Lei, Annals of Applied Statistics 19 (2025) 1641-1662. Each of up to 17 thresholds, placed at quantiles of
the scores without using the labels, is tested for "the precision is below the wanted one" by the binomial
tail; Bonferroni-Holm keeps the chance of any wrong certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from worker.statistics.binomial import at_most
from worker.statistics.shares import Observation, Share, checked, effective_size, weighted_share

CANDIDATES: Final = 17
"""Thresholds that keep 10 to 90 percent of the observations."""
CERTAINTY: Final = 0.9
MOST_REVIEWS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedThreshold:
    """A threshold whose precision is certified.

    Attributes:
        threshold: 0..1; scores from here on are kept.
        precision: share of hits among the kept, with its 95 % interval.
        coverage: share of all observations that are kept, with its interval.
        chance: 0..1, of as good a sample if the precision were below the wanted one.
    """

    threshold: float
    precision: Share
    coverage: Share
    chance: float


def certified_threshold(observations: Iterable[Observation], wanted: float) -> CertifiedThreshold | None:
    """The lowest threshold whose precision is at least ``wanted`` with ``CERTAINTY``; None without one.

    Weights enter the test as Kish's effective size, see ``worker.statistics.binomial.at_most``.

    Raises:
        SampleRejected: a weight is negative or not finite, or all are 0.
    """
    held = sorted(checked(observations), key=lambda each: each.score)
    tested = sorted(
        (_chance([each for each in held if each.score >= threshold], wanted), threshold)
        for threshold in _candidates(held)
    )
    passed: list[tuple[float, float]] = []
    for rank, (chance, threshold) in enumerate(tested):
        if chance > (1 - CERTAINTY) / (len(tested) - rank):
            break
        passed.append((threshold, chance))
    return _described(held, *min(passed)) if passed else None


def reviews_needed(wanted: float) -> int:
    """The fewest kept observations, all hits and of equal weight, that certify ``wanted`` at all."""
    if not 0 < wanted < 1:
        raise ValueError(f"wanted: expected a share between 0 and 1, got {wanted}")
    return min(MOST_REVIEWS, math.ceil(math.log((1 - CERTAINTY) / CANDIDATES) / math.log(wanted)))


def _candidates(held: Sequence[Observation]) -> list[float]:
    """Scores from which 10 to 90 percent of the weight are kept; ``held`` is sorted by score."""
    total = math.fsum(each.weight for each in held)
    wanted = [total * (0.1 + 0.05 * number) for number in range(CANDIDATES)]
    found: list[float] = []
    below = 0.0
    for each in held:
        below += each.weight
        while wanted and below >= wanted[0]:
            found.append(each.score)
            wanted.pop(0)
    return sorted(set(found))


def _chance(kept: Sequence[Observation], wanted: float) -> float:
    size = effective_size(kept)
    misses = math.fsum(each.weight for each in kept if not each.hit)
    total = math.fsum(each.weight for each in kept)
    return at_most(size * misses / total, size, 1 - wanted)


def _described(held: Sequence[Observation], threshold: float, chance: float) -> CertifiedThreshold:
    precision = weighted_share(each for each in held if each.score >= threshold)
    coverage = weighted_share(Observation(hit=each.score >= threshold, weight=each.weight) for each in held)
    assert precision is not None  # a candidate is one of the scores
    assert coverage is not None
    return CertifiedThreshold(threshold=threshold, precision=precision, coverage=coverage, chance=chance)
