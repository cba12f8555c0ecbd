"""Binomial tails for sizes that need not be whole numbers: the regularised incomplete beta function."""

from __future__ import annotations

import math
from typing import Final

_MOST_TERMS: Final = 10_000
_TINY: Final = 1e-300
_EXACT: Final = 1e-15


def at_most(wrong: float, size: float, share: float) -> float:
    """Probability of at most ``wrong`` errors among ``size`` when their share is ``share``.

    For whole numbers the sum of binomial terms. Effective sizes of weighted samples are put into the same
    function: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998) 193-201.
    """
    if wrong >= size:
        return 1.0
    return incomplete_beta(size - wrong, wrong + 1, 1 - share)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, for ``a`` and ``b`` above 0 and ``x`` of 0..1.

    By Lentz's method on the continued fraction DLMF 8.17.22, on the side where it converges fast.
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(front) * _fraction(a, b, x) / a
    return 1 - math.exp(front) * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for number in range(1, _MOST_TERMS):
        even = number * (b - number) * x / ((a + 2 * number - 1) * (a + 2 * number))
        odd = -(a + number) * (a + b + number) * x / ((a + 2 * number) * (a + 2 * number + 1))
        for term in (even, odd):
            d, c = 1 / _away(1 + term * d), _away(1 + term / c)
            step = c * d
            value *= step
        if abs(step - 1) < _EXACT:
            break
    return value


def _away(value: float) -> float:
    """The value, away from 0."""
    return value if abs(value) > _TINY else _TINY
