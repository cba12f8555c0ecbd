"""Training: from labelled replies to coefficients, thresholds and the training record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from worker.assessment.relevance.signals import RELEVANCE_SIGNALS
from worker.assessment.signals.coefficients import Coefficients, CoefficientSet
from worker.assessment.signals.grounds import EvidenceKind
from worker.assessment.signals.lexical import has_bare_fact
from worker.assessment.training.evaluation import PolicyOutcome, auroc
from worker.assessment.training.folds import (
    FEWEST_GROUPS,
    Fitter,
    Goal,
    fitted_weights,
    held_out_confidences,
    reject_threshold,
)
from worker.assessment.training.relevance_fitting import RelevanceExample, fit_relevance

TRAINED_SIGNALS: Mapping[EvidenceKind, tuple[str, ...]] = MappingProxyType(
    {
        EvidenceKind.QUESTION: (
            "weakest_sentence",
            "two_weakest_sentences",
            "unseen_pairs",
            "unsupported_numbers",
            "unsupported_times",
            "unsupported_names",
            "condensation",
        ),
        EvidenceKind.SUMMARY: (
            "missing_share",
            "two_worst_sentences",
            "last_sentence",
            "bare_sentences",
            "unsupported_numbers",
            "unsupported_times",
            "unsupported_names",
            "condensation",
        ),
        EvidenceKind.RECORDS: (
            "mean_sentence",
            "unseen_pair_share",
            "unsupported_numbers",
            "unsupported_times",
            "affirmed_off",
            "stated_blank",
            "hedges",
            "condensation",
        ),
    }
)
"""Kind of evidence -> the signals that its coefficients may weigh, each of which can only raise the risk.

Few, because several signals measure the same: with all of them held-out AUROC is lower (record 0055).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledReply:
    """One labelled reply.

    Attributes:
        group: source of the reply; replies of one group are never split between fitting and testing.
        ungrounded: the human label.
    """

    group: str
    kind: EvidenceKind
    signals: Mapping[str, float]
    ungrounded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSource:
    """The source of the labelled replies, for the training record."""

    data: str
    licence: str
    trained_on: str


def fit_model(
    examples: Sequence[LabelledReply],
    *,
    fitter: Fitter,
    goal: Goal,
    source: TrainingSource,
    base: CoefficientSet,
    version: int,
    relevance: Sequence[RelevanceExample] = (),
) -> CoefficientSet:
    """A model fitted per kind of evidence, and for relevance.

    Kinds, and relevance, with too few groups keep the coefficients of ``base``.
    """
    kinds = dict(base.kinds)
    record: dict[str, object] = {}
    for kind in EvidenceKind:
        mine = [example for example in examples if example.kind is kind]
        groups = {example.group for example in mine}
        if len(groups) < FEWEST_GROUPS or len({example.ungrounded for example in mine}) < 2:
            record[kind.value] = {"rows": len(mine), "groups": len(groups), "kept": f"model {base.version}"}
            continue
        kinds[kind], record[kind.value] = _fitted(mine, fitter=fitter, goal=goal)
    relevant, record["relevance"] = fit_relevance(relevance, fitter=fitter, base=base)
    return CoefficientSet(
        version=version,
        kinds=kinds,
        relevance=relevant,
        record={
            "data": source.data,
            "licence": source.licence,
            "trained_on": source.trained_on,
            "libraries": dict(fitter.versions),
            "signals": {kind.value: list(names) for kind, names in TRAINED_SIGNALS.items()},
            "relevance_signals": list(RELEVANCE_SIGNALS),
            "goal": {
                "risk": goal.risk,
                "certainty": goal.certainty,
                "reject_precision": goal.reject_precision,
            },
            "kinds": record,
        },
    )


def _fitted(
    examples: Sequence[LabelledReply], *, fitter: Fitter, goal: Goal
) -> tuple[Coefficients, dict[str, object]]:
    names = TRAINED_SIGNALS[examples[0].kind]
    held_out = cross_validated_confidences(examples, fitter)
    labels = [example.ungrounded for example in examples]
    sendable = [
        0.0 if has_bare_fact(example.signals) else confidence
        for example, confidence in zip(examples, held_out, strict=True)
    ]
    send_at = fitter.send_threshold(sendable, labels, goal)
    reject_below = reject_threshold(held_out, labels, goal)
    intercept, weights = fitted_weights([e.signals for e in examples], labels, names, fitter)
    certified = 1.0 if send_at is None else send_at
    coefficients = Coefficients(
        intercept=intercept,
        weights={name: w for name, w in zip(names, weights, strict=True) if w > 0.0},
        send_at=certified,
        reject_below=min(reject_below, certified),
    )
    outcomes = [
        PolicyOutcome(confidence=c, ungrounded=label, sent=s >= certified, judged=False)
        for c, s, label in zip(held_out, sendable, labels, strict=True)
    ]
    sent = [o for o in outcomes if o.sent]
    return coefficients, {
        "rows": len(examples),
        "groups": len({example.group for example in examples}),
        "ungrounded": sum(labels),
        "cross_validated_auroc": auroc(outcomes),
        "send_at_certified": send_at is not None,
        "cross_validated_sent": len(sent),
        "cross_validated_sent_ungrounded": sum(o.ungrounded for o in sent),
    }


def cross_validated_confidences(examples: Sequence[LabelledReply], fitter: Fitter) -> list[float]:
    """The confidence of each reply, all of one kind, by coefficients fitted without its group."""
    return held_out_confidences(
        [example.signals for example in examples],
        [example.ungrounded for example in examples],
        [example.group for example in examples],
        TRAINED_SIGNALS[examples[0].kind],
        fitter,
    )
