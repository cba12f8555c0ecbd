"""The figures of a range as numbers: shown on the dashboard and returned by the JSON API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from db.figures.answers import answered_by_people
from db.figures.histograms import SpreadKind, percentile_ms
from db.rows import Row
from worker.model import DecisionKind
from worker.reasons import BLOCKED, FAILED, Reason

SumRow: TypeAlias = Mapping[str, Any]

SUMS: Final = (
    "degraded", "retried", "attempts", "rechecked", "improved", "prompt_tokens", "completion_tokens",
)  # fmt: skip
PERCENTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSummary:
    """Counts of decisions, shares of them 0..1, times in ms; None where there was nothing to divide by.

    Each decision counts once in ``replies``, ``silent``, ``escalated`` or ``answered``.

    Attributes:
        replies: answered by the AI alone.
        silent: ignored, for any reason, and not answered by a person.
        escalated: handed to people, and not answered by a person.
        blocked: flagged by a rule or by moderation, message or draft.
        failed: no reply because of a failure, see ``worker.reasons.FAILED``.
        retried: with a call to a model or to moderation that failed.
        improved: rechecked, with higher confidence afterwards.
        answered: a person answered it, whatever the AI decided.
        mean_confidence: of assessed drafts, sent or not, and 0 for those without an answer.
        by_reason: events by reason code, most first.
    """

    decisions: int
    replies: int
    silent: int
    escalated: int
    answered: int
    blocked: int
    failed: int
    fallbacks: int
    degraded: int
    retried: int
    attempts: int
    rechecked: int
    improved: int
    prompt_tokens: int
    completion_tokens: int
    mean_confidence: float | None
    by_reason: Mapping[str, int]

    def share(self, name: str) -> float | None:
        """A count as a share of the decisions."""
        return getattr(self, name) / self.decisions if self.decisions else None

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def improvement(self) -> float | None:
        """The share of rechecks that raised the confidence."""
        return self.improved / self.rechecked if self.rechecked else None


def summarise(rows: Iterable[SumRow], answered: Iterable[Row] = ()) -> FigureSummary:
    """The sums over rows of ``counts`` and ``answered`` of ``db.figures.dashboard.DashboardFigures``."""
    by_people = answered_by_people(answered)
    decisions: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    sums = dict.fromkeys(SUMS, 0)
    assessed, confidence = 0, 0.0
    for row in rows:
        decisions[row["decision"]] += row["events"]
        reasons[row["reason_code"]] += row["events"]
        for name in SUMS:
            sums[name] += row[name]
        assessed += row["assessed"]
        confidence += row["confidence_sum"]
    left = decisions - by_people
    return FigureSummary(
        decisions=decisions.total(),
        replies=left[DecisionKind.RESPOND],
        silent=left[DecisionKind.IGNORE],
        escalated=left[DecisionKind.ESCALATE],
        answered=by_people.total(),
        blocked=sum(reasons[each] for each in BLOCKED),
        failed=sum(reasons[each] for each in FAILED),
        fallbacks=reasons[Reason.FALLBACK_SENT],
        **sums,
        mean_confidence=confidence / assessed if assessed else None,
        by_reason=dict(sorted((+reasons).items(), key=lambda each: (-each[1], each[0]))),
    )


def mean_confidences(rows: Iterable[SumRow], name: str = "policy") -> dict[tuple[datetime, str], float]:
    """Mean confidence 0..1 by step and policy over rows of ``trust``, or by step and label of ``labels``."""
    events: Counter[tuple[datetime, str]] = Counter()
    sums: dict[tuple[datetime, str], float] = {}
    for row in rows:
        key = row["step"], row[name]
        events[key] += row["events"]
        sums[key] = sums.get(key, 0.0) + float(row["confidence_sum"])
    return {key: sums[key] / count for key, count in sorted(events.items()) if count}


def time_percentiles(
    rows: Iterable[SumRow], kind: SpreadKind, decision: str | None = None
) -> dict[str, float | None]:
    """Percentiles of a kind of time over rows of ``DashboardFigures.spreads``, of one decision or of all."""
    bins: Counter[int] = Counter()
    for row in rows:
        if row["kind"] == kind and decision in (None, row["decision"]):
            bins[row["bin"]] += row["events"]
    return {name: percentile_ms(bins, share) for name, share in PERCENTILES.items()}
