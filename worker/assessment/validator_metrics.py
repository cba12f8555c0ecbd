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


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorCounts:
    """What the metrics are made of.

    Attributes:
        replies: assessed at all.
        confidence: 0..1, their mean.
        fallbacks: replaced by the safe text.
        failed: failed at least one validator.
        doubts: said that they do not know.
    """

    replies: int
    confidence: float
    fallbacks: int
    failed: int
    doubts: int


def metrics_of(counts: ValidatorCounts) -> ValidatorMetrics:
    """The seven metrics of counted assessments."""
    every = counts.replies or 1
    return ValidatorMetrics(
        avg_confidence_score=counts.confidence,
        fallback_usage_count=counts.fallbacks,
        fallback_usage_rate=counts.fallbacks / every,
        hallucination_prevented_count=counts.fallbacks,
        hallucination_reduction_rate=counts.fallbacks / (counts.failed or 1),
        uncertainty_expressed_count=counts.doubts,
        uncertainty_expression_rate=counts.doubts / every,
    )


def metrics(assessments: Sequence[Assessment]) -> ValidatorMetrics:
    """The seven metrics of a set of this policy's assessments."""
    infos = [a.diagnostics for a in assessments]
    return metrics_of(
        ValidatorCounts(
            replies=len(assessments),
            confidence=sum(a.confidence for a in assessments) / (len(assessments) or 1),
            fallbacks=sum(bool(info.get("used_fallback")) for info in infos),
            failed=sum(not info.get("passed") for info in infos),
            doubts=sum(bool(info.get("uncertainty_expressed")) for info in infos),
        )
    )
