"""The seven metrics of Confidence Validation, over any set of its assessments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorMetrics:
    """Confidence Validation's seven metrics; rates are shares 0..1.

    ``hallucination_reduction_rate`` is the share of replaced replies among those that failed validation; the
    design names the rate but not its base.
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
    """The counts from which the metrics are computed.

    Attributes:
        replies: assessed replies.
        confidence: 0..1, their mean.
        fallbacks: replies replaced by the safe text.
        failed: replies that failed at least one validator.
        doubts: replies that said that they do not know.
    """

    replies: int
    confidence: float
    fallbacks: int
    failed: int
    doubts: int


def metrics_from_counts(counts: ValidatorCounts) -> ValidatorMetrics:
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
