"""Calibration of a cosine: its percentile among the similarities of unrelated texts."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

SHARES: Final = (*(step / 100 for step in range(100)), 0.995, 0.999, 0.9995, 0.9999, 1.0)
"""The shares whose quantiles are stored; finest at the upper end, where thresholds lie."""

SAMPLE: Final = 400
"""Stored chunks compared with each background question; with 48 questions 19,200 pairs at most."""

LEAST_SAMPLE: Final = 200
"""With fewer stored chunks the background passages are compared as well."""


def percentile(similarity: float, quantiles: Sequence[float]) -> float:
    """The share (0..1) of background similarities below this one, interpolated between ``SHARES``."""
    at = bisect_left(quantiles, similarity)
    if at == 0:
        return 0.0
    if at == len(quantiles):
        return 1.0
    low, high = quantiles[at - 1], quantiles[at]
    return SHARES[at - 1] + (similarity - low) / (high - low) * (SHARES[at] - SHARES[at - 1])


@cache
def background() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Everyday questions and passages in eight languages; no passage answers a question."""
    data = json.loads(resources.files("worker.documents").joinpath("data/background.json").read_text("utf-8"))
    return tuple(data["questions"]), tuple(data["passages"])
