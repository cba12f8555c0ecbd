"""Fits that are tested on groups they never saw: the fitter port, folds by group, and thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.assessment.signals.coefficients import Coefficients

FOLDS = 5
FEWEST_GROUPS = 20
"""A kind of evidence with fewer groups keeps its coefficients: a fold would have fewer than four groups."""


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


def fitted_weights(
    signals: Sequence[Mapping[str, float]], wrong: Sequence[bool], names: Sequence[str], fitter: Fitter
) -> tuple[float, tuple[float, ...]]:
    """Intercept and weights of the named signals; a missing signal counts 0."""
    return fitter.logistic([[each.get(name, 0.0) for name in names] for each in signals], wrong)


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


def held_out_confidences(
    signals: Sequence[Mapping[str, float]],
    wrong: Sequence[bool],
    groups: Sequence[str],
    names: Sequence[str],
    fitter: Fitter,
) -> list[float]:
    """The confidence of each row by coefficients fitted without its group."""
    fold_of = fold_numbers(groups)
    confidences = [0.0] * len(signals)
    for fold in range(FOLDS):
        seen = [index for index, each in enumerate(fold_of) if each != fold]
        intercept, weights = fitted_weights(
            [signals[index] for index in seen], [wrong[index] for index in seen], names, fitter
        )
        fold_model = Coefficients(
            intercept=intercept,
            weights=dict(zip(names, weights, strict=True)),
            send_at=1.0,
            reject_below=0.0,
        )
        for index, each in enumerate(fold_of):
            if each == fold:
                confidences[index] = fold_model.confidence(signals[index])
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
