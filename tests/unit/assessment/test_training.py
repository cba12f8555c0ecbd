"""Training: groups are not split, thresholds keep their goal, the record describes the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from worker.assessment.signals.coefficients import model_json, parse_model, shipped_model
from worker.assessment.signals.grounds import EvidenceKind
from worker.assessment.training.fitting import (
    LabelledReply,
    TrainingSource,
    cross_validated_confidences,
    fit_model,
)
from worker.assessment.training.folds import Goal, fold_numbers, reject_threshold

SOURCE = TrainingSource(data="made up", licence="CC0", trained_on="2026-11-21")


@dataclass(slots=True)
class PlainFitter:
    """A fitter without libraries: one weight, the mean label as intercept; remembers what it saw."""

    threshold: float | None = 0.5
    seen: list[int] = field(default_factory=list)

    @property
    def versions(self) -> Mapping[str, str]:
        """No library."""
        return {"plain": "1"}

    def logistic(
        self, rows: Sequence[Sequence[float]], ungrounded: Sequence[bool]
    ) -> tuple[float, tuple[float, ...]]:
        """Weights only the first signal."""
        self.seen.append(len(rows))
        return sum(ungrounded) / len(rows) - 2.0, (3.0, *[0.0] * (len(rows[0]) - 1))

    def send_threshold(
        self, confidences: Sequence[float], ungrounded: Sequence[bool], goal: Goal
    ) -> float | None:
        """The given threshold."""
        return self.threshold


def examples(groups: int = 25, kind: EvidenceKind = EvidenceKind.QUESTION) -> list[LabelledReply]:
    """Two replies a group: one with nothing missing, one with much."""
    quiet = dict.fromkeys(
        ("unsupported_numbers", "unsupported_times", "unsupported_names", "bare_sentences"), 0.0
    )
    return [
        LabelledReply(
            group=f"g{n:02}",
            kind=kind,
            signals={**quiet, "weakest_sentence": 2.0 * bad},
            ungrounded=bool(bad),
        )
        for n in range(groups)
        for bad in (0, 1)
    ]


def test_a_group_is_never_split() -> None:
    """Fold sizes differ by at most one group."""
    groups = [e.group for e in examples(23)]
    found = fold_numbers(groups)

    assert all(len({f for g, f in zip(groups, found, strict=True) if g == name}) == 1 for name in groups)
    assert sorted(found.count(fold) for fold in range(5)) == [8, 8, 10, 10, 10]


def test_folds_are_the_same_every_time() -> None:
    """The folds are not random."""
    groups = [e.group for e in examples()]

    assert fold_numbers(groups) == fold_numbers(list(groups))


def test_a_reply_is_scored_by_coefficients_that_never_saw_its_group() -> None:
    """Five fits, each on four fifths of the rows."""
    fitter = PlainFitter()
    confidences = cross_validated_confidences(examples(), fitter)

    assert fitter.seen == [40] * 5
    assert min(confidences[::2]) > max(confidences[1::2])


@pytest.mark.parametrize(
    ("labels", "threshold"),
    [([1] * 10 + [0] * 10, 0.11), ([1] * 8 + [0] * 12, 0.09), ([0] * 20, 0.0), ([1] * 9, 0.0)],
)
def test_the_reject_threshold_keeps_its_precision(labels: list[int], threshold: float) -> None:
    """At least 80 % of those below are ungrounded, and at least ten were seen."""
    confidences = [n / 100 for n in range(len(labels))]

    assert reject_threshold(confidences, [bool(v) for v in labels], Goal()) == pytest.approx(threshold)


def test_a_model_carries_the_record_of_its_training() -> None:
    """Data, licence, date, libraries, rows, groups, held-out figures."""
    model = fit_model(
        examples(), fitter=PlainFitter(), goal=Goal(), source=SOURCE, base=shipped_model(), version=7
    )
    kinds = model.record["kinds"]

    assert isinstance(kinds, dict)
    assert kinds["question"] == {
        "rows": 50,
        "groups": 25,
        "ungrounded": 25,
        "cross_validated_auroc": 1.0,
        "send_at_certified": True,
        "cross_validated_sent": 25,
        "cross_validated_sent_ungrounded": 0,
    }
    assert (model.version, model.record["trained_on"], model.record["libraries"]) == (
        7, "2026-11-21", {"plain": "1"},
    )  # fmt: skip


def test_too_few_groups_keep_the_old_coefficients() -> None:
    """What cannot be cross-validated is not learnt, and the record says so."""
    base = shipped_model()
    model = fit_model(examples(19), fitter=PlainFitter(), goal=Goal(), source=SOURCE, base=base, version=2)

    assert model.kinds == base.kinds
    assert model.record["kinds"] == {
        "question": {"rows": 38, "groups": 19, "kept": f"model {base.version}"},
        "summary": {"rows": 0, "groups": 0, "kept": f"model {base.version}"},
        "records": {"rows": 0, "groups": 0, "kept": f"model {base.version}"},
        "relevance": {"rows": 0, "groups": 0, "kept": f"model {base.version}"},
    }


def test_without_a_certified_threshold_nothing_is_sent_unread() -> None:
    """None certified means 1.0: every reply goes to the judge."""
    model = fit_model(
        examples(),
        fitter=PlainFitter(threshold=None),
        goal=Goal(),
        source=SOURCE,
        base=shipped_model(),
        version=2,
    )

    assert model.kinds[EvidenceKind.QUESTION].send_at == 1.0


def test_a_model_survives_its_json_form() -> None:
    """Written and read back."""
    model = shipped_model()

    assert parse_model(json.loads(json.dumps(model_json(model)))) == model


def test_the_shipped_record_names_its_data_and_libraries() -> None:
    """Only RAGTruth (MIT) and answers of ours, no data whose licence forbids training."""
    record = shipped_model().record

    assert str(record["data"]).startswith("RAGTruth")
    assert record["licence"] == "MIT; short answers Apache-2.0"
    assert isinstance(record["libraries"], dict)
    assert set(record["libraries"]) == {"scikit-learn", "scipy", "numpy", "mapie"}
