"""Training of relevance: from rows made of grounded replies to coefficients, thresholds and their record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worker.assessment.relevance.signals import RELEVANCE_SIGNALS
from worker.assessment.signals.coefficients import Coefficients, CoefficientSet
from worker.assessment.training.evaluation import PolicyOutcome, auroc
from worker.assessment.training.folds import (
    FEWEST_GROUPS,
    Fitter,
    Goal,
    fitted_weights,
    held_out_confidences,
    reject_threshold,
)
from worker.assessment.training.relevance_rows import RelevanceKind

RELEVANCE_GOAL = Goal(risk=0.1, certainty=0.9, reject_precision=0.98)
"""Refuses more carefully than for support: a person cannot see at once why a supported draft was refused."""


SHARPNESS = 2.0
CENTRE = 0.2
"""The fitted log odds are doubled around a relevance of 0.2, so that the confidence of a relevant draft is
that of its support: the penalty of the fit flattens the odds, and two in three made rows are irrelevant, far
more than in use. The order of the drafts by relevance is unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceExample:
    """The signals of one row about relevance.

    Attributes:
        group: as of the reply it was made from; rows of one group are never split.
        made: how it was made; figures are recorded per kind.
    """

    group: str
    made: RelevanceKind
    signals: Mapping[str, float]


def fit_relevance(
    examples: Sequence[RelevanceExample], *, fitter: Fitter, base: CoefficientSet
) -> tuple[Coefficients | None, dict[str, object]]:
    """Coefficients of relevance with their record; those of ``base`` when there are too few groups."""
    groups = [example.group for example in examples]
    if len(set(groups)) < FEWEST_GROUPS:
        return base.relevance, {
            "rows": len(examples), "groups": len(set(groups)), "kept": f"model {base.version}",
        }  # fmt: skip
    signals = [example.signals for example in examples]
    wrong = [example.made.irrelevant for example in examples]
    held_out = [
        _sharpened(confidence)
        for confidence in held_out_confidences(signals, wrong, groups, RELEVANCE_SIGNALS, fitter)
    ]
    send_at = fitter.send_threshold(held_out, wrong, RELEVANCE_GOAL)
    certified = 1.0 if send_at is None else send_at
    intercept, weights = fitted_weights(signals, wrong, RELEVANCE_SIGNALS, fitter)
    coefficients = Coefficients(
        intercept=SHARPNESS * (intercept + _log_odds(CENTRE)),
        weights={name: SHARPNESS * w for name, w in zip(RELEVANCE_SIGNALS, weights, strict=True) if w > 0.0},
        send_at=certified,
        reject_below=min(certified, reject_threshold(held_out, wrong, RELEVANCE_GOAL)),
    )
    return coefficients, {
        "rows": len(examples),
        "groups": len(set(groups)),
        "irrelevant": sum(wrong),
        "sharpness": SHARPNESS,
        "centre": CENTRE,
        "goal": {"risk": RELEVANCE_GOAL.risk, "certainty": RELEVANCE_GOAL.certainty,
                 "reject_precision": RELEVANCE_GOAL.reject_precision},
        "send_at_certified": send_at is not None,
        "cross_validated_auroc": _auroc_by_kind(examples, held_out),
    }  # fmt: skip


def _sharpened(relevance: float) -> float:
    """A relevance with its log odds multiplied around ``CENTRE``."""
    kept = min(max(relevance, 1e-12), 1.0 - 1e-12)
    return 1.0 / (1.0 + math.exp(-SHARPNESS * (_log_odds(kept) - _log_odds(CENTRE))))


def _log_odds(share: float) -> float:
    return math.log(share / (1.0 - share))


def _auroc_by_kind(
    examples: Sequence[RelevanceExample], confidences: Sequence[float]
) -> dict[str, float | None]:
    """AUROC of the rows of each irrelevant kind against the relevant ones."""
    found: dict[str, float | None] = {}
    for kind in RelevanceKind:
        if kind.irrelevant:
            found[kind.value] = auroc(
                [
                    PolicyOutcome(confidence=c, ungrounded=e.made is kind, sent=False, judged=False)
                    for e, c in zip(examples, confidences, strict=True)
                    if e.made is kind or not e.made.irrelevant
                ]
            )
    return found
