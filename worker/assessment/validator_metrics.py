"""The seven metrics of seed 002, over any set of its assessments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.model import Assessment


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorMetrics:
    """Seed 002's seven metrics; rates are shares 0..1.

    ``hallucination_reduction_rate`` is the share of replies that failed validation and were replaced: the
    document names the rate but not what it is a share of.
    """

    avg_confidence_score: float
    fallback_usage_count: int
    fallback_usage_rate: float
    hallucination_prevented_count: int
    hallucination_reduction_rate: float
    uncertainty_expressed_count: int
    uncertainty_expression_rate: float


def metrics(assessments: Sequence[Assessment]) -> ValidatorMetrics:
    """The seven metrics of a set of this policy's assessments."""
    every = len(assessments) or 1
    infos = [a.diagnostics for a in assessments]
    fallbacks = sum(bool(info.get("used_fallback")) for info in infos)
    failed = sum(not info.get("passed") for info in infos)
    doubts = sum(bool(info.get("uncertainty_expressed")) for info in infos)
    return ValidatorMetrics(
        avg_confidence_score=sum(a.confidence for a in assessments) / every,
        fallback_usage_count=fallbacks,
        fallback_usage_rate=fallbacks / every,
        hallucination_prevented_count=fallbacks,
        hallucination_reduction_rate=fallbacks / (failed or 1),
        uncertainty_expressed_count=doubts,
        uncertainty_expression_rate=doubts / every,
    )
