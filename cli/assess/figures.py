"""The figures of a report: how well a policy separates grounded from ungrounded replies, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from worker.statistics.binomial import at_most
from worker.statistics.reliability import calibration_error, reliability_bins
from worker.statistics.shares import Observation

RISKS = (0.05, 0.02, 0.01)
"""Risks at which a report gives the coverage: 5, 2 and 1 percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOutcome:
    """The outcome of a policy on one labelled reply.

    Attributes:
        confidence: 0..1 that the reply is grounded.
        ungrounded: the human label.
        sent: whether the policy would send it.
        judged: whether the policy needed a judge.
    """

    confidence: float
    ungrounded: bool
    sent: bool
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFigures:
    """One line of a report; None where the rows allow no figure (only one class, none sent).

    Attributes:
        auroc: 0..1, chance that an ungrounded reply gets less confidence than a grounded one.
        f1: of "not sent" as the finding "ungrounded".
        best_f1: the same at the best confidence threshold for these rows.
        aurc: 0..1, mean share of ungrounded replies over all coverages, most confident first.
        coverage_at: risk -> share of replies that can be sent with at most that share ungrounded among them.
        false_reject: 0..1, share of grounded replies stopped when 90 % of the ungrounded are.
        calibration_error: 0..1, mean gap between confidence and share grounded over ten equal steps.
        judge_share: 0..1, share of replies that needed a judge.
        sent: replies sent.
        sent_ungrounded: replies sent that are labelled ungrounded: k of n audited.
        sent_ungrounded_at_most: 0..1, upper 95 % bound of that share (Clopper-Pearson).
    """

    rows: int
    ungrounded: int
    auroc: float | None
    f1: float | None
    best_f1: float | None
    aurc: float | None
    coverage_at: dict[float, float]
    false_reject: float | None
    calibration_error: float
    judge_share: float
    sent: int
    sent_ungrounded: int
    sent_ungrounded_at_most: float


def policy_figures(outcomes: Sequence[PolicyOutcome]) -> PolicyFigures:
    """All figures of a report for one set of at least one reply."""
    ungrounded = sum(o.ungrounded for o in outcomes)
    sent = [o for o in outcomes if o.sent]
    wrong = sum(o.ungrounded for o in sent)
    curve = risk_coverage(outcomes)
    return PolicyFigures(
        rows=len(outcomes),
        ungrounded=ungrounded,
        auroc=auroc(outcomes),
        f1=f1(outcomes, lambda o: not o.sent),
        best_f1=_best_f1(outcomes),
        aurc=sum(risk for _, risk in curve) / len(curve),
        coverage_at={risk: _coverage_at(curve, risk) for risk in RISKS},
        false_reject=false_reject(outcomes, recall=0.9),
        calibration_error=_calibration_error(outcomes),
        judge_share=sum(o.judged for o in outcomes) / len(outcomes),
        sent=len(sent),
        sent_ungrounded=wrong,
        sent_ungrounded_at_most=upper_bound(wrong, len(sent)),
    )


def auroc(outcomes: Sequence[PolicyOutcome]) -> float | None:
    """0..1, area under the ROC curve (Mann-Whitney, ties count half); None with only one class."""
    positives = sum(o.ungrounded for o in outcomes)
    negatives = len(outcomes) - positives
    if not positives or not negatives:
        return None
    won = below = 0.0
    for _, tied in _tied_groups(outcomes):
        bad = sum(o.ungrounded for o in tied)
        good = len(tied) - bad
        won += bad * (negatives - below - good) + bad * good / 2
        below += good
    return won / (positives * negatives)


def _tied_groups(outcomes: Sequence[PolicyOutcome]) -> list[tuple[float, list[PolicyOutcome]]]:
    """Outcomes of equal confidence together, least confident first."""
    ordered = sorted(outcomes, key=lambda o: o.confidence)
    return [(value, list(tied)) for value, tied in groupby(ordered, key=lambda o: o.confidence)]


def f1(outcomes: Sequence[PolicyOutcome], found: Callable[[PolicyOutcome], bool]) -> float | None:
    """0..1, harmonic mean of precision and recall of ``found`` as the finding "ungrounded"."""
    hits = sum(found(o) and o.ungrounded for o in outcomes)
    total = sum(map(found, outcomes)) + sum(o.ungrounded for o in outcomes)
    return 2 * hits / total if total else None


def _best_f1(outcomes: Sequence[PolicyOutcome]) -> float | None:
    positives = sum(o.ungrounded for o in outcomes)
    best, hits, found = 0.0, 0, 0
    for _, tied in _tied_groups(outcomes):
        hits += sum(o.ungrounded for o in tied)
        found += len(tied)
        best = max(best, 2 * hits / (found + positives))
    return best if positives else None


def risk_coverage(outcomes: Sequence[PolicyOutcome]) -> list[tuple[float, float]]:
    """(coverage, risk) when the most confident replies are sent first; tied replies share their mean risk."""
    curve: list[tuple[float, float]] = []
    sent, wrong = 0, 0.0
    for _, tied in reversed(_tied_groups(outcomes)):
        rate = sum(o.ungrounded for o in tied) / len(tied)
        for _ in tied:
            sent, wrong = sent + 1, wrong + rate
            curve.append((sent / len(outcomes), wrong / sent))
    return curve


def _coverage_at(curve: Sequence[tuple[float, float]], risk: float) -> float:
    return max((coverage for coverage, measured in curve if measured <= risk), default=0.0)


def false_reject(outcomes: Sequence[PolicyOutcome], *, recall: float) -> float | None:
    """0..1, share of grounded replies stopped where ``recall`` of the ungrounded are."""
    positives = sum(o.ungrounded for o in outcomes)
    negatives = len(outcomes) - positives
    if not positives or not negatives:
        return None
    hits = held = 0
    for _, tied in _tied_groups(outcomes):
        bad = sum(o.ungrounded for o in tied)
        hits, held = hits + bad, held + len(tied) - bad
        if hits >= recall * positives:
            break
    return held / negatives


def _calibration_error(outcomes: Sequence[PolicyOutcome]) -> float:
    labelled = (Observation(hit=not each.ungrounded, score=each.confidence) for each in outcomes)
    return calibration_error(reliability_bins(labelled)) or 0.0


def upper_bound(wrong: int, audited: int) -> float:
    """0..1, largest share of errors compatible with ``wrong`` of ``audited``.

    Clopper-Pearson, one-sided, with a certainty of 95 %. With 0 wrong it is close to the rule of three:
    3 / ``audited``. With 0 audited it is 1.
    """
    if wrong >= audited:
        return 1.0
    low, high = wrong / audited, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if at_most(wrong, audited, middle) > 0.05:
            low = middle
        else:
            high = middle
    return high
