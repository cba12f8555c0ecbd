"""Shares with their 95 % intervals, of counted and of weighted things."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from worker.errors import RejectedError

Z: Final = 1.959963984540054
"""The normal distribution's 97.5 % point: intervals are of 95 %."""


class SampleRejected(RejectedError):
    """A sample has no usable weights; the message says what was expected and what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A proportion of counted things with its 95 % interval, all 0..1.

    Attributes:
        share: ``hits`` of ``total``; where they are weighted, of their weights.
    """

    hits: int
    total: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One reading of a sample.

    Attributes:
        hit: what is counted, such as that the decision was right.
        weight: the inverse of the chance with which it was drawn; 0 counts for nothing.
        score: 0..1, what the system had measured, such as its confidence.
    """

    hit: bool
    weight: float = 1.0
    score: float = 0.0


def wilson(hits: int, total: int) -> Share | None:
    """The score interval; None where nothing was counted.

    E. B. Wilson, Journal of the American Statistical Association 22 (1927) 209-212; recommended and worked
    out by R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, method 3.
    """
    return None if total == 0 else _scored(hits, total, hits / total, total)


def weighted(hits: int, total: int, *, weight_of_hits: float, weight: float, squares: float) -> Share | None:
    """The score interval of a weighted sample; None where nothing was counted.

    The share is Hajek's ratio: of the weights, each the inverse of the chance of being drawn. The interval is
    Wilson's for as many things as Kish's effective size (Survey Sampling, 1965): the square of the sum of the
    weights by the sum of their squares, which is ``total`` where all are alike. It supposes that rulings are
    as divided among heavy things as among light ones.

    Args:
        hits: unweighted count of hits.
        total: unweighted count.
        weight_of_hits: sum of the weights of the hits.
        weight: sum of all weights.
        squares: sum of the squares of all weights.

    Raises:
        SampleRejected: something was counted, and all of it weighs 0.
    """
    if total == 0:
        return None
    if not (weight > 0 and squares > 0 and math.isfinite(weight) and math.isfinite(squares)):
        raise SampleRejected(f"weights: expected a sum above 0, got {weight} of {total} readings")
    return _scored(hits, total, min(1.0, weight_of_hits / weight), weight * weight / squares)


def weighted_share(observations: Iterable[Observation]) -> Share | None:
    """The share of hits with its interval, see :func:`weighted`; None of no observations.

    Raises:
        SampleRejected: a weight is negative or not finite, or all are 0.
    """
    held = checked(observations)
    weights = [each.weight for each in held]
    return weighted(
        sum(each.hit for each in held),
        len(held),
        weight_of_hits=math.fsum(each.weight for each in held if each.hit),
        weight=math.fsum(weights),
        squares=math.fsum(each * each for each in weights),
    )


def checked(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """The observations that weigh anything.

    Raises:
        SampleRejected: a weight is negative or not finite, or all are 0.
    """
    held = tuple(observations)
    for each in held:
        if not (each.weight >= 0 and math.isfinite(each.weight)):
            raise SampleRejected(f"weight: expected a number from 0, got {each.weight}")
    heavy = tuple(each for each in held if each.weight > 0)
    if held and not heavy:
        raise SampleRejected(f"weights: expected a sum above 0, got 0 of {len(held)} readings")
    return heavy


def effective_size(observations: Iterable[Observation]) -> float:
    """Kish's effective size: how many readings of equal weight are as precise; 0 without readings."""
    weights = [each.weight for each in observations]
    squares = math.fsum(each * each for each in weights)
    return math.fsum(weights) ** 2 / squares if squares else 0.0


def _scored(hits: int, total: int, share: float, size: float) -> Share:
    middle = share + Z * Z / (2 * size)
    half = Z * math.sqrt(share * (1 - share) / size + Z * Z / (4 * size * size))
    scale = 1 + Z * Z / size
    low, high = (middle - half) / scale, (middle + half) / scale
    return Share(hits=hits, total=total, share=share, low=max(0.0, low), high=min(1.0, high))
