"""Histograms with fixed bins, so that the histograms of hours add up to that of their day.

Times are kept in 8 bins to each doubling of milliseconds, bin ``n`` from above ``2 ** ((n - 1) / 8)`` to
``2 ** (n / 8)`` inclusive; bin 0 holds everything up to 1 ms, bin 240 everything from 12 days on. A
percentile is the geometric middle of the bin that holds the nearest-rank percentile: off by at most
``2 ** (1 / 16) - 1``, 4.4 % of the true value, between 1 ms and 12 days.
Confidence is kept in 20 bins of 0.05; the last one includes 1. By policy and by label it is kept in 1000
bins, so that a mean is off by at most 0.0005.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

PER_DOUBLING: Final = 8
TOP: Final = 240
ERROR: Final = 2 ** (1 / (2 * PER_DOUBLING)) - 1
"""Largest relative error of a percentile of times."""
CONFIDENCE_BINS: Final = 20
POLICY_BINS: Final = 1000
POLICY: Final = "policy "
"""Beginning of the kind of a histogram of one policy's confidence; its design follows: ``policy safety``."""

LABEL: Final = "label "
"""Beginning of the kind of a histogram of the confidence for events with one label: ``label subject=tax``."""

MOST_LABELS: Final = 20
"""Labels that are counted of an account and hour, the most frequent ones: a label may be an order number."""

LONGEST_LABEL: Final = 100
"""Characters of name and value; longer labels are not counted."""


class SpreadKind(StrEnum):
    """The quantity of a histogram; stored in ``figure_spreads.kind``."""

    CONFIDENCE = "confidence"
    TOTAL = "total_ms"
    WORK = "work_ms"
    WAITING = "waiting_ms"


def middle_ms(number: int) -> float:
    """The time of a bin: its geometric middle, 1 ms for the first."""
    return 1.0 if number == 0 else 2 ** ((number - 0.5) / PER_DOUBLING)


def percentile_ms(counts: Mapping[int, int], share: float) -> float | None:
    """The nearest-rank percentile of times, such as share 0.95; None where nothing was counted."""
    total = sum(counts.values())
    rank = max(1, math.ceil(share * total))
    reached = 0
    for number in sorted(counts):
        reached += counts[number]
        if reached >= rank:
            return middle_ms(number)
    return None
