"""Confidence Guardrail (Confidence Guardrail): every number in it that is a rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.support.readings import reading
from tests.unit.assessment.samples import assessed, calls_for, evidence
from worker.assessment import Evidence, better_assessment, log_entry, parse_policy, recheck_search
from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.assessment.policies.guardrail import (
    FALLBACK_MESSAGE,
    WEIGHTS,
    GuardrailPolicy,
    certainty_score,
    confidence_tier,
    grounding_band,
    with_recheck,
)
from worker.assessment.policies.outcomes import with_timestamp
from worker.assessment.values import SearchBounds
from worker.errors import ModelUnavailable
from worker.model import Action, Json, Tier

POLICY = GuardrailPolicy()
DRAFT = "Items can be returned within 30 days."


def scores(grounding: Json, certainty: Json) -> str:
    """A judge's two answers."""
    return reading(scores={"grounding": grounding, "certainty": certainty})


def test_the_weights_are_60_30_and_10_percent() -> None:
    """Guardrail: grounding 60 %, retrieval 30 %, certainty 10 %; the published breakdown gives 0.85."""
    found = assessed(DRAFT, POLICY, evidence(0.8), answer=scores(0.9, 0.7))

    assert dict(WEIGHTS) == {"grounding": 0.6, "retrieval": 0.3, "certainty": 0.1}
    assert found.confidence == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("score", "tier"),
    [
        (1.0, "high"),
        (0.8, "high"),
        (0.795, "medium"),
        (0.79, "medium"),
        (0.5, "medium"),
        (0.49, "low"),
        (0.0, "low"),
    ],
)
def test_tiers_begin_at_0_8_and_0_5(score: float, tier: str) -> None:
    """Confidence Guardrail: high from 0.8, medium 0.5 to 0.79, low below; 0.795 is medium."""
    assert confidence_tier(score, POLICY) == tier


@pytest.mark.parametrize(
    ("score", "meaning"),
    [
        (1.0, "entirely based on the provided context"),
        (0.9, "mostly grounded with minor general knowledge"),
        (0.7, "mostly grounded with minor general knowledge"),
        (0.4, "a mix of context and general knowledge"),
        (0.1, "primarily general knowledge"),
        (0.0, "completely ignores or contradicts the context"),
    ],
)
def test_grounding_has_five_bands(score: float, meaning: str) -> None:
    """Confidence Guardrail, "Grounding Score"."""
    assert grounding_band(score) == meaning


def test_retrieval_is_the_mean_similarity() -> None:
    """Confidence Guardrail: average similarity of the retrieved documents, 0 without any."""
    found = assessed(DRAFT, POLICY, evidence(0.9, 0.5), answer=scores(1.0, 1.0))
    without = assessed(DRAFT, POLICY, Evidence(), answer=scores(1.0, 1.0))

    assert found.signals["retrieval"] == pytest.approx(0.7)
    assert without.signals["retrieval"] == 0.0


@pytest.mark.parametrize(
    ("draft", "self_assessed", "certainty"),
    [
        ("It is open.", 0.9, 0.9),
        ("I think it is open.", 0.9, 0.8),
        ("I think it is maybe, possibly open.", 0.9, 0.6),
        ("I think maybe possibly perhaps probably.", 0.2, 0.0),
    ],
)
def test_hedging_reduces_the_certainty(draft: str, self_assessed: float | None, certainty: float) -> None:
    """Guardrail: hedging language and self-assessment; "I think", "maybe", "possibly" reduce it."""
    assert certainty_score(draft, self_assessed, 0.1) == pytest.approx(certainty)


@pytest.mark.parametrize(
    ("grounding", "certainty", "outcome"),
    [
        (1.0, "yes", "judge_answer_has_no_scores"),
        (1.0, None, "judge_answer_has_no_scores"),
        (1.0, True, "judge_answer_has_no_scores"),
        (1.0, "NaN", "judge_answer_out_of_range"),
        (1.0, 7, "judge_answer_out_of_range"),
        ("", 1.0, "judge_answer_has_no_scores"),
        (-0.1, 1.0, "judge_answer_out_of_range"),
        ([1.0], 1.0, "judge_answer_has_no_scores"),
    ],
)
def test_an_answer_without_both_scores_delivers_nothing(
    grounding: Json, certainty: Json, outcome: str
) -> None:
    """Neither of them is made up; the failed check names what came."""
    found = assessed(DRAFT, POLICY, evidence(1.0), answer=scores(grounding, certainty))
    breakdown = found.diagnostics["confidenceBreakdown"]

    assert (found.tier, found.action, found.category) == (Tier.LOW, Action.ESCALATE, outcome)
    assert outcome in found.failed_checks
    assert breakdown == {"grounding": None, "retrieval": 1.0, "certainty": None}


def test_a_hedging_phrase_takes_a_tenth_unless_an_account_says_otherwise() -> None:
    """The design gives no number; Hushgate's is 0.1."""
    hedged = assessed("I think it is open.", POLICY, answer=scores(1.0, 1.0))
    harsh = assessed("I think it is open.", GuardrailPolicy(hedge_penalty=0.5), answer=scores(1.0, 1.0))

    assert (hedged.signals["certainty"], harsh.signals["certainty"]) == (0.9, 0.5)


def test_grounding_and_certainty_come_in_one_call() -> None:
    """Two scores of one reading; a draft without an answer needs none."""
    assert calls_for(DRAFT, POLICY) == 1
    assert calls_for("I don't know.", POLICY) == 0


def test_use_case_1_high_confidence_is_delivered() -> None:
    """Confidence Guardrail, use case 1: similarity 0.92, confidence 0.95, delivered."""
    found = assessed(DRAFT, POLICY, evidence(0.92), answer=scores(1.0, 0.74))

    assert (round(found.confidence, 9), found.tier, found.action) == (0.95, Tier.HIGH, Action.SEND)


def test_use_case_2_medium_confidence_is_rechecked_and_the_better_one_stands() -> None:
    """Guardrail, use case 2: 0.68 at similarity 0.65, rechecked with 10 documents from 0.3, 0.87."""
    before = assessed(DRAFT, POLICY, evidence(0.65), answer=scores(0.65, 0.95))
    again = Evidence(passages=evidence(0.8).passages, rechecks=1)
    after = assessed(DRAFT, POLICY, again, answer=scores(0.9, 0.9))

    assert (round(before.confidence, 9), before.tier, before.action) == (0.68, Tier.MEDIUM, Action.RECHECK,
    )  # fmt: skip
    assert recheck_search(POLICY) == SearchBounds(documents=10, min_similarity=0.3)
    assert (POLICY.initial_documents, POLICY.initial_similarity) == (5, 0.4)
    assert (round(after.confidence, 9), after.tier, after.action) == (0.87, Tier.HIGH, Action.SEND)
    assert better_assessment(before, after) is after


def test_use_case_3_low_confidence_is_escalated_with_an_explanation() -> None:
    """Confidence Guardrail, use case 3: no documents, confidence 0.15, handed to a person."""
    found = assessed("It is blue.", POLICY, Evidence(), answer=scores(0.1, 0.9))

    assert (round(found.confidence, 9), found.tier, found.action) == (0.15, Tier.LOW, Action.ESCALATE)
    assert found.explanation.startswith("Overall Confidence: 15.0% (LOW). Grounding: 0.10")
    assert found.reasons == ()  # the explanation once, on the page


def test_a_recheck_that_does_not_improve_is_dropped() -> None:
    """Confidence Guardrail: compare; if improved, the new reply, else the original."""
    before = assessed(DRAFT, POLICY, evidence(0.65), answer=scores(0.65, 0.95))
    same = assessed(DRAFT, POLICY, evidence(0.65), answer=scores(0.65, 0.95))

    assert better_assessment(before, same) is before


def test_a_reply_that_stands_after_a_vain_recheck_says_that_it_was_rechecked() -> None:
    """Guardrail: recheckAttempted and recheckCount are of the message, whichever draft went out."""
    before = assessed(DRAFT, POLICY, evidence(0.65), answer=scores(0.65, 0.95))
    kept = with_recheck(before)

    assert (before.diagnostics["recheckAttempted"], before.diagnostics["recheckCount"]) == (False, 0)
    assert (kept.diagnostics["recheckAttempted"], kept.diagnostics["recheckCount"]) == (True, 1)
    assert kept.confidence == before.confidence


def test_another_design_has_no_confidence_log() -> None:
    """The log is Confidence Guardrail's own."""
    assert log_entry(assessed(DRAFT, CalibratedPolicy())) is None


def test_a_reply_is_rechecked_once() -> None:
    """Guardrail: a medium reply after its recheck is delivered; only low ones fall back or escalate."""
    again = Evidence(passages=evidence(0.65).passages, rechecks=1)

    assert assessed(DRAFT, POLICY, again, answer=scores(0.65, 0.95)).action is Action.SEND


def test_recheck_and_escalation_can_be_switched_off() -> None:
    """Guardrail: enableRecheck, enableEscalation; without escalation the fallback message is sent."""
    policy = GuardrailPolicy(enable_recheck=False, enable_escalation=False)
    medium = assessed(DRAFT, policy, evidence(0.65), answer=scores(0.65, 0.95))
    low = assessed(DRAFT, policy, evidence(0.1), answer=scores(0.1, 0.5))

    assert (medium.action, recheck_search(policy)) == (Action.SEND, None)
    assert (low.action, low.fallback_text) == (Action.FALLBACK, FALLBACK_MESSAGE)


def test_the_five_options_are_read_under_their_published_names() -> None:
    """Confidence Guardrail, "Configuration Options"."""
    policy = parse_policy(
        {
            "name": "guardrail",
            "highThreshold": 0.9,
            "mediumThreshold": 0.6,
            "enableRecheck": False,
            "enableEscalation": False,
            "fallbackMessage": "Custom fallback message...",
        }
    )

    assert policy == GuardrailPolicy(
        high_threshold=0.9,
        medium_threshold=0.6,
        enable_recheck=False,
        enable_escalation=False,
        fallback_message="Custom fallback message...",
    )


def test_the_metadata_has_every_published_field() -> None:
    """Confidence Guardrail, "Message Metadata" and "confidenceLog"; the time is an argument."""
    again = Evidence(passages=evidence(0.8).passages, rechecks=1)
    found = assessed(DRAFT, POLICY, again, answer=scores(0.9, 0.7))
    at = datetime(2025, 10, 27, 12, tzinfo=UTC)
    entry = log_entry(replace(found, diagnostics=with_timestamp(found.diagnostics, at)))

    assert found.diagnostics == {
        "confidence": 0.85,
        "confidenceTier": "high",
        "confidenceBreakdown": {"grounding": 0.9, "retrieval": 0.8, "certainty": 0.7},
        "confidenceDetails": found.explanation,
        "documentsUsed": [{"id": "doc#0", "title": "Returns", "similarity": 0.8}],
        "recheckAttempted": True,
        "recheckCount": 1,
    }
    assert entry == {
        "timestamp": "2025-10-27T12:00:00+00:00",
        "score": 0.85,
        "tier": "high",
        "breakdown": {"grounding": 0.9, "retrieval": 0.8, "certainty": 0.7},
        "documentsUsed": [{"id": "doc#0", "title": "Returns", "similarity": 0.8}],
        "recheckAttempted": True,
        "recheckCount": 1,
        "details": found.explanation,
    }


@pytest.mark.parametrize(
    ("answer", "outcome"), [(ModelUnavailable("down"), "judge_unavailable"), (None, "judge_off")]
)
def test_without_a_grounding_score_nothing_is_delivered(answer: Exception | None, outcome: str) -> None:
    """A judge that is down or off is no grounding of 0 and no pass: the reply is low and says why."""
    found = assessed(DRAFT, POLICY, evidence(1.0), answer=answer)

    assert (found.category, found.tier, found.action) == (outcome, Tier.LOW, Action.ESCALATE)
    assert outcome in found.failed_checks
    assert "grounding" not in found.signals
