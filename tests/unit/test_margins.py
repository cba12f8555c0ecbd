"""How close a decision was to another outcome."""

from __future__ import annotations

from typing import Any

import pytest

from review.decision import margins
from review.decision.margins import Margin
from worker.assessment.policies.designs import DESIGNS
from worker.snapshot import Snapshot


def margin(score: float, threshold: float | None) -> Margin:
    """One measure."""
    return Margin(subject="draft", measure="confidence", score=score, threshold=threshold, effect="sent")


def assessed(policy: str, confidence: float = 0.5, **more: Any) -> Snapshot:
    """A snapshot with an assessment."""
    known = {"policy": f"{policy}@1", "confidence": confidence, "signals": {}, "diagnostics": {}}
    passages = [{"similarity": 0.4}]
    return Snapshot.from_json({"assessment": known | more, "passages": passages})


@pytest.mark.parametrize(
    ("score", "threshold", "expected"),
    [
        (0.62, 0.7, "0.62 of 0.70, 0.08 short"),
        (0.93, 0.7, "0.93 of 0.70, 0.23 over"),
        (0.7, 0.7, "0.70 of 0.70, 0.00 over"),
        (0.698, 0.7, "0.698 of 0.700, 0.002 short"),
        (0.69999, 0.7, "0.699990 of 0.700000, 0.000010 short"),
        (0.4, None, "0.40"),
    ],
)
def test_a_margin_has_figures_that_add_up(score: float, threshold: float | None, expected: str) -> None:
    """A near miss is never rounded into a hit."""
    assert margin(score, threshold).comparison() == expected


def test_moderation_scores_are_sorted_by_distance_to_their_threshold() -> None:
    """Those without one come last, highest first."""
    highest = {
        "hate": {"score": 0.1, "threshold": 0.9},
        "violence": {"score": 0.62, "threshold": 0.7},
        "sexual": {"score": 0.3, "threshold": None},
        "harassment": {"score": 0.4, "threshold": None},
    }
    stages = [
        {"stage": "rules", "detail": {}},
        {"stage": "moderation", "detail": {"highest": highest}},
        {"stage": "moderation_reply", "detail": {"moderated": False}},
    ]
    found = margins.moderation_margins(Snapshot.from_json({"stages": stages}))

    assert [each.measure for each in found] == ["violence", "hate", "harassment", "sexual"]
    assert [each.subject for each in found] == ["message"] * 4
    assert not found[0].reached


@pytest.mark.parametrize(
    ("settings", "snapshot", "expected"),
    [
        (
            {"name": "guardrail", "highThreshold": 0.9},
            assessed("guardrail", 0.62),
            ["0.62 of 0.90, 0.28 short", "0.62 of 0.50, 0.12 over"],
        ),
        ({"name": "failsafe"}, assessed("failsafe", 0.65), ["0.65 of 0.70, 0.05 short"]),
        (
            {"name": "validators", "evidence_threshold": 0.2},
            assessed("validators", signals={"overlap": 0.15}),
            ["0.15 of 0.20, 0.05 short"],
        ),
        (
            {"name": "safety"},
            assessed("safety", signals={"citations": 0.5}),
            ["0.50 of 0.80, 0.30 short", "0.40 of 0.50, 0.10 short", "0.40 of 0.30, 0.10 over"],
        ),
        (
            {"send_at": 0.4},
            assessed("calibrated", support=0.3, relevance=0.9, diagnostics={"send_at": 0.5}),
            ["0.30 of 0.50, 0.20 short", "0.90 of 0.50, 0.40 over"],
        ),
        (
            {"name": "consensus"},
            assessed("consensus", signals={"agreement": 0.8}, support=0.9, relevance=0.2),
            ["0.80 of 0.70, 0.10 over", "0.90 of 0.50, 0.40 over", "0.20 of 0.50, 0.30 short"],
        ),
        ({}, assessed("calibrated", category="judge_off"), []),
    ],
)
def test_each_policy_shows_its_own_thresholds(
    settings: dict[str, Any], snapshot: Snapshot, expected: list[str]
) -> None:
    """Of the version the decision used, and as the trace noted them where it did."""
    assert expected == [each.comparison() for each in margins.assessment_margins(snapshot, settings)]


@pytest.mark.parametrize("design", DESIGNS)
def test_an_assessment_of_another_policy_has_no_margins(design: str) -> None:
    """Nothing is compared with a threshold that was not in force."""
    other = next(name for name in DESIGNS if name != design)

    assert margins.assessment_margins(assessed(other), {"name": design}) == ()
    assert margins.assessment_margins(assessed(design), None) == ()
    assert margins.assessment_margins(assessed(design), {"name": "of a later release"}) == ()
    assert margins.assessment_margins(Snapshot(), {"name": design}) == ()


def test_the_half_that_stopped_a_draft_is_named_first() -> None:
    """A supported draft that answers another question is stopped by its relevance."""
    more = {"support": 0.7, "relevance": 0.1, "category": "irrelevant", "diagnostics": {"send_at": 0.4}}
    snapshot = assessed("calibrated", 0.07, **more)
    assert snapshot.assessment is not None
    found = margins.assessment_margins(snapshot, {"name": "calibrated"})
    deciding = margins.deciding_margin(found, sent=False)

    assert [each.measure for each in found] == ["relevance", "support"]
    assert deciding is not None
    assert (deciding.measure, deciding.requirement()) == ("relevance", "0.10 where 0.40 is needed")
    assert (snapshot.assessment.support, snapshot.assessment.relevance) == (0.7, 0.1)
