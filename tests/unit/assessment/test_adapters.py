"""A stronger detector behind the judge port, and that the engine scores as the training library does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from worker.adapters.detector_judge import DetectorJudge
from worker.assessment.signals.coefficients import shipped_model
from worker.assessment.training.rows import parse_row

from cli.assess.commands import labelled_reply
from tests.unit.assessment.samples import RETURNS, asked, evidence
from worker.assessment.policies.calibrated_policy import CalibratedPolicy

FIXTURES = Path(__file__).parents[2] / "fixtures" / "assessment"
UNDECIDED = "You can return any item within 30 days of delivery. Vouchers are valid forever."
RECORDED = {
    "You can return any item within 30 days of delivery.": 0.99,
    "Vouchers are valid forever.": 0.03,
}


async def test_a_detector_is_given_question_context_and_claim() -> None:
    """Recorded scores of a detector: the lowest sentence decides."""
    seen = []

    def score(query: str, context: str, claim: str) -> float:
        seen.append((query, RETURNS in context))
        return RECORDED[claim]

    found = await asked(
        query="Returns?",
        evidence=evidence(0.9),
        draft=UNDECIDED,
        policy=CalibratedPolicy(),
        judge=DetectorJudge(score=score),
    )

    assert (found.action, found.signals["judge_lowest"]) == ("escalate", 0.03)
    assert seen == [("Returns?", True), ("Returns?", True)]


@pytest.mark.parametrize("error", [OSError("no weights"), RuntimeError("out of memory")])
async def test_a_detector_that_fails_is_unavailable(error: Exception) -> None:
    """Never a score."""

    def score(query: str, context: str, claim: str) -> float:
        raise error

    found = await asked(
        query="Returns?",
        evidence=evidence(0.9),
        draft=UNDECIDED,
        policy=CalibratedPolicy(),
        judge=DetectorJudge(score=score),
    )

    assert found.category == "judge_unavailable"
    assert str(error) in " ".join(found.reasons)


def test_the_engine_gives_the_confidences_the_training_library_gives() -> None:
    """Plain Python against SciPy's own numbers, recorded when the coefficients were fitted."""
    expected = json.loads((FIXTURES / "expected_confidences.json").read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in (FIXTURES / "ragtruth_sample.jsonl").read_text().splitlines()]
    model = shipped_model()
    found = {}
    for row in rows:
        example = labelled_reply(parse_row(row, label="label"))
        found[str(row["id"])] = model.kinds[example.kind].confidence(example.signals)

    assert found == pytest.approx(expected, abs=1e-9)
