"""Training: from labelled replies to coefficients, thresholds and the training record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.assessment.signals.coefficients import Coefficients, CoefficientSet
from worker.assessment.signals.lexical import EvidenceKind, has_bare_fact
from worker.assessment.training.evaluation import PolicyOutcome, auroc

TRAINED_SIGNALS = (
    "missing_words",
    "missing_share",
    "two_worst_sentences",
    "mean_sentence",
    "last_sentence",
    "bare_sentences",
    "unseen_pairs",
    "unseen_pair_share",
    "unsupported_numbers",
    "unsupported_times",
    "unsupported_names",
    "affirmed_off",
    "stated_blank",
    "hedges",
    "evidence_size",
)
"""The signals that the coefficients may weigh; each can only raise the risk (no weight is negative)."""

FOLDS = 5
FEWEST_GROUPS = 20
"""A kind of evidence with fewer groups keeps its coefficients: a fold would have fewer than four groups."""


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
class Goal:
    """The guarantees that the thresholds must give.

    Attributes:
        risk: 0..1, largest share of ungrounded replies among those sent without a judge.
        certainty: 0..1, probability with which ``risk`` must be kept, given these labels.
        reject_precision: 0..1, smallest share of ungrounded replies among those refused without a judge.
    """

    risk: float = 0.1
    certainty: float = 0.9
    reject_precision: float = 0.8


class Fitter(Protocol):
    """The two numerical fits; scikit-learn and MAPIE implement them in the extra ``calibrate``."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Library -> version, for the training record."""
        ...

    def logistic(
        self, rows: Sequence[Sequence[float]], ungrounded: Sequence[bool]
    ) -> tuple[float, tuple[float, ...]]:
        """Intercept and weights, none negative, of the log odds that a reply is ungrounded."""
        ...

    def send_threshold(
        self, confidences: Sequence[float], ungrounded: Sequence[bool], goal: Goal
    ) -> float | None:
        """The lowest confidence from which ``goal`` is certified, or None when no threshold is."""
        ...


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
) -> CoefficientSet:
    """A model fitted per kind of evidence; kinds with too few groups keep the coefficients of ``base``."""
    kinds = dict(base.kinds)
    record: dict[str, object] = {}
    for kind in EvidenceKind:
        mine = [example for example in examples if example.kind is kind]
        groups = {example.group for example in mine}
        if len(groups) < FEWEST_GROUPS or len({example.ungrounded for example in mine}) < 2:
            record[kind.value] = {"rows": len(mine), "groups": len(groups), "kept": f"model {base.version}"}
            continue
        kinds[kind], record[kind.value] = _fitted(mine, fitter=fitter, goal=goal)
    return CoefficientSet(
        version=version,
        kinds=kinds,
        record={
            "data": source.data,
            "licence": source.licence,
            "trained_on": source.trained_on,
            "libraries": dict(fitter.versions),
            "signals": list(TRAINED_SIGNALS),
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
    held_out = cross_validated_confidences(examples, fitter)
    labels = [example.ungrounded for example in examples]
    sendable = [
        0.0 if has_bare_fact(example.signals) else confidence
        for example, confidence in zip(examples, held_out, strict=True)
    ]
    send_at = fitter.send_threshold(sendable, labels, goal)
    reject_below = reject_threshold(held_out, labels, goal)
    intercept, weights = _fit(examples, fitter)
    certified = 1.0 if send_at is None else send_at
    coefficients = Coefficients(
        intercept=intercept,
        weights={name: w for name, w in zip(TRAINED_SIGNALS, weights, strict=True) if w > 0.0},
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


def _fit(examples: Sequence[LabelledReply], fitter: Fitter) -> tuple[float, tuple[float, ...]]:
    rows = [[example.signals.get(name, 0.0) for name in TRAINED_SIGNALS] for example in examples]
    return fitter.logistic(rows, [example.ungrounded for example in examples])


def fold_numbers(groups: Sequence[str], count: int = FOLDS) -> list[int]:
    """The fold of each row, so that a group is never split and the folds are about equally large.

    Large groups are placed first, each into the fold with the fewest rows; nothing is random.
    """
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    filled = [0] * count
    place: dict[str, int] = {}
    for group in sorted(sizes, key=lambda g: (-sizes[g], g)):
        place[group] = filled.index(min(filled))
        filled[place[group]] += sizes[group]
    return [place[group] for group in groups]


def cross_validated_confidences(examples: Sequence[LabelledReply], fitter: Fitter) -> list[float]:
    """The confidence of each reply by coefficients fitted without its group."""
    fold_of = fold_numbers([example.group for example in examples])
    confidences = [0.0] * len(examples)
    for fold in range(FOLDS):
        seen = [e for e, f in zip(examples, fold_of, strict=True) if f != fold]
        intercept, weights = _fit(seen, fitter)
        fold_model = Coefficients(
            intercept=intercept,
            weights=dict(zip(TRAINED_SIGNALS, weights, strict=True)),
            send_at=1.0,
            reject_below=0.0,
        )
        for index, example in enumerate(examples):
            if fold_of[index] == fold:
                confidences[index] = fold_model.confidence(example.signals)
    return confidences


def reject_threshold(confidences: Sequence[float], ungrounded: Sequence[bool], goal: Goal) -> float:
    """The highest confidence below which at least ``goal.reject_precision`` of the replies are ungrounded."""
    best = wrong = 0.0
    for position, (confidence, label) in enumerate(
        sorted(zip(confidences, ungrounded, strict=True)), start=1
    ):
        wrong += label
        if (
            position >= 10 and wrong / position >= goal.reject_precision
        ):  # a share of fewer than ten is chance
            best = confidence
    return best
