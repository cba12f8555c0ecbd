"""Logistic coefficients: from the signals of each kind of evidence to one probability, in plain Python."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter

from worker.assessment.signals.grounds import EvidenceKind
from worker.model import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """One logistic model and its two thresholds.

    Attributes:
        intercept: log odds of a wrong reply (ungrounded, or irrelevant) when every signal is 0.
        weights: signal -> change of the log odds per unit, never negative.
        send_at: 0..1, confidence from which a reply is sent without a judge; see ``risk`` in the record.
        reject_below: 0..1, confidence below which a reply is refused without a judge.
    """

    intercept: float
    weights: Mapping[str, float]
    send_at: float
    reject_below: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.reject_below <= self.send_at <= 1.0:
            got = f"reject_below {self.reject_below}, send_at {self.send_at}"
            raise ValueError(f"thresholds: expected 0 <= reject_below <= send_at <= 1, got {got}")

    def confidence(self, signals: Mapping[str, float]) -> float:
        """0..1, probability that the reply is right (grounded, or relevant); a missing signal counts 0."""
        odds = self.intercept + sum(w * signals.get(name, 0.0) for name, w in self.weights.items())
        return 1.0 / (1.0 + math.exp(min(700.0, odds)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientSet:
    """Coefficients for every kind of evidence, with the record of their training.

    Attributes:
        record: data, rows, groups, date, library versions and figures of the training run.
        relevance: from the relevance signals to the probability that a draft answers the question; None in a
            model without its own, which uses the shipped ones.
    """

    version: int
    kinds: Mapping[EvidenceKind, Coefficients]
    record: Mapping[str, object]
    relevance: Coefficients | None = None

    def __post_init__(self) -> None:
        missing = [kind.value for kind in EvidenceKind if kind not in self.kinds]
        if missing:
            raise ValueError(f"kinds: expected one entry per kind of evidence, missing {', '.join(missing)}")


@cache
def shipped_model() -> CoefficientSet:
    """The model shipped with Hushgate, trained on RAGTruth (MIT); see its ``record``."""
    text = files("worker.assessment.signals").joinpath("coefficients.json").read_text(encoding="utf-8")
    return parse_model(json.loads(text))


def relevance_model(model: CoefficientSet) -> Coefficients:
    """A model's coefficients of relevance, or the shipped ones."""
    found = model.relevance or shipped_model().relevance
    if found is None:
        raise ValueError("coefficients.json: expected coefficients of relevance, got none")
    return found


def parse_model(data: Json) -> CoefficientSet:
    """A model from its JSON form.

    Raises:
        pydantic.ValidationError: a field is missing, unknown or of the wrong type.
    """
    return _ADAPTER.validate_python(data)


def model_json(model: CoefficientSet) -> Json:
    """The JSON form of a model, as shipped in ``coefficients.json``."""
    dumped: Json = _ADAPTER.dump_python(model, mode="json")
    return dumped


_ADAPTER = TypeAdapter(CoefficientSet)
