"""Safety Mechanism (Safety Mechanism): every number in it that is a rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.assessment.samples import assessed, evidence, passage
from worker.assessment import Evidence, early_refusal
from worker.assessment.policies.safety_checks import RejectionReason, SafetyPolicy
from worker.model import Action

POLICY = SafetyPolicy()
GOOD = "You can return any item within 30 days [1]. Refunds take 5 working days [1]."


def reason(draft: str, found: Evidence, policy: SafetyPolicy = POLICY) -> str:
    """The primary rejection reason, or empty."""
    return assessed(draft, policy, found).category


def test_the_defaults_are_the_published_thresholds() -> None:
    """Safety Mechanism, SafetyThresholds."""
    assert (
        POLICY.min_retrieval_confidence,
        POLICY.min_similarity_score,
        POLICY.min_rerank_score,
        POLICY.min_chunks_required,
        POLICY.min_total_context_length,
        POLICY.require_citations,
        POLICY.min_citation_coverage,
        POLICY.min_grounding_score,
        POLICY.max_topic_mismatch_score,
    ) == (0.6, 0.5, 0.5, 1, 100, True, 0.8, 0.7, 0.3)


def test_a_grounded_and_cited_answer_is_accepted() -> None:
    """Safety Mechanism: if all pass, accept and return the answer."""
    found = assessed(GOOD, POLICY, evidence(0.9))

    assert (found.action, found.category, found.failed_checks) == (Action.SEND, "", ())
    assert found.passed_checks == (
        "retrieval_confidence", "context_sufficiency", "topic_relevance", "citations", "answer_grounding",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("similarities", "expected"),
    [
        ((0.6,), ""),
        ((0.59,), "low_confidence"),
        ((0.9, 0.3), ""),
        ((0.9, 0.29), "low_confidence"),
        ((0.35,), "low_confidence"),
    ],
)
def test_trigger_1_is_a_mean_below_0_6(similarities: tuple[float, ...], expected: str) -> None:
    """Safety Mechanism: quantum entanglement, best chunk 0.35, is rejected for low confidence."""
    assert reason(GOOD, evidence(*similarities)) == expected


@pytest.mark.parametrize(("rerank", "expected"), [("0.5", ""), ("0.49", "low_confidence"), ("none", "")])
def test_trigger_1_minds_a_rerank_score_where_there_is_one(rerank: str, expected: str) -> None:
    """Safety Mechanism: min_rerank_score 0.5."""
    assert reason(GOOD, Evidence(passages=(passage(rerank=rerank),))) == expected


@pytest.mark.parametrize(("length", "expected"), [(100, ""), (99, "insufficient_context")])
def test_trigger_2_is_fewer_than_100_characters(length: int, expected: str) -> None:
    """Safety Mechanism: total length below 100 characters."""
    text = ("You can return any item within 30 days. " * 3)[:length].ljust(length, ".")

    assert reason("You can return any item within 30 days [1].", evidence(0.9, text=text)) == expected


@pytest.mark.parametrize(("best", "expected"), [(0.5, ""), (0.49, "low_confidence")])
def test_the_best_similarity_counts_where_the_mean_may_be_low(best: float, expected: str) -> None:
    """Safety Mechanism: min_similarity_score 0.5, which has no effect at the default mean of 0.6."""
    policy = SafetyPolicy(min_retrieval_confidence=0.2)

    assert reason(GOOD, evidence(best, 0.3), policy) == expected


def test_trigger_2_is_no_chunk_at_all() -> None:
    """Safety Mechanism: the capital of Mars, no chunks, is insufficient context and nothing else."""
    assert reason("It is Olympus.", Evidence()) == "insufficient_context"


def test_trigger_2_counts_chunks() -> None:
    """Safety Mechanism: min_chunks_required, 3 in the strict example."""
    strict = SafetyPolicy(min_retrieval_confidence=0.85, min_chunks_required=3, min_grounding_score=0.9)

    assert reason(GOOD, evidence(0.9, 0.9), strict) == "insufficient_context"
    assert reason(GOOD, evidence(0.9, 0.9, 0.9), strict) == ""


@pytest.mark.parametrize(
    ("best", "expected"), [(0.25, "off_topic"), (0.29, "off_topic"), (0.3, "low_confidence")]
)
def test_trigger_3_is_a_best_score_below_0_3(best: float, expected: str) -> None:
    """Safety Mechanism: chocolate chip cookies, best 0.25, is off topic, though the mean is below 0.6 too."""
    assert reason(GOOD, evidence(best)) == expected


@pytest.mark.parametrize(
    ("subject", "number", "expected"),
    [("Mathematics", "10", ""), ("Mathematics", "9", "off_topic"), ("Biology", "10", "off_topic")],
)
def test_trigger_3_minds_class_and_subject(subject: str, number: str, expected: str) -> None:
    """Safety Mechanism: class and subject must match, as labels of a passage."""
    found = Evidence(
        passages=(replace(passage(), metadata={"subject": subject, "class": number}),),
        expected_metadata={"subject": "Mathematics", "class": "10"},
    )

    assert reason(GOOD, found) == expected


@pytest.mark.parametrize(
    ("draft", "coverage", "expected"),
    [
        ("You can return any item [1]. Refunds take 5 working days.", 0.8, "missing_citations"),
        (GOOD, 1.0, ""),
        ("Any item [1]. Within 30 days [1]. Refunds [1]. Working days [1]. Your card.", 0.8, ""),
        (
            "Any item [1]. Within 30 days [1]. Refunds [1]. Working days [1]. Your card.",
            1.0,
            "missing_citations",
        ),
        ("Any item [1]. Within 30 days [1]. Refunds [1]. Your card.", 0.8, "missing_citations"),
    ],
)
def test_trigger_4_is_the_share_of_cited_sentences(draft: str, coverage: float, expected: str) -> None:
    """Safety Mechanism: 0.8 by its thresholds, every sentence by its trigger; both can be had."""
    assert reason(draft, evidence(0.9), replace(POLICY, min_citation_coverage=coverage)) == expected


def test_trigger_4_is_a_citation_that_maps_to_no_chunk() -> None:
    """Safety Mechanism: invalid_citations > 0."""
    draft = "You can return any item within 30 days [1][7]. Refunds take 5 working days [1]."

    assert reason(draft, evidence(0.9)) == "invalid_citations"


def test_sentences_that_only_cite_invalid_numbers_are_not_missing_citations() -> None:
    """``invalid_citations`` is the only reason; an uncited sentence beside it is another."""
    invalid = "Refunds take 5 working days to arrive on your card [7]."
    uncited = "Opened software cannot be returned."

    assert reason(invalid, evidence(0.9)) == "invalid_citations"
    assert reason(f"{invalid} {uncited}", evidence(0.9)) == "multiple_issues"
    assert reason(uncited, evidence(0.9)) == "missing_citations"


def test_citations_need_not_be_required() -> None:
    """Safety Mechanism: require_citations."""
    free = SafetyPolicy(require_citations=False)

    assert reason("You can return any item within 30 days.", evidence(0.9), free) == ""


@pytest.mark.parametrize(("invented", "expected"), [(3, ""), (4, "low_grounding")])
def test_trigger_5_is_fewer_than_70_percent_of_the_sentences(invented: int, expected: str) -> None:
    """Safety Mechanism: below 0.7; 7 of 10 pass, 6 of 10 do not."""
    held = "You can return any item within 30 days [1]. " * (10 - invented)
    draft = held + "Unicorns graze on purple moonbeams nightly [1]. " * invented

    assert reason(draft, evidence(0.9)) == expected


def test_trigger_5_notices_that_the_passages_were_left() -> None:
    """Safety Mechanism: "Detect hallucination patterns"."""
    draft = "From my knowledge, you can return any item within 30 days [1]."

    assert reason(draft, evidence(0.9)) == "hallucination_detected"


def test_an_account_s_own_pattern_may_have_capitals_and_end_in_a_sign() -> None:
    """What an account writes is compared like the draft: folded."""
    policy = SafetyPolicy(hallucination_patterns=("My Own Guess:",))
    draft = "My own guess: you can return any item within 30 days [1]."

    assert reason(draft, evidence(0.9), policy) == "hallucination_detected"


def test_independent_failures_are_multiple_issues() -> None:
    """Safety Mechanism: MULTIPLE_ISSUES; every reason is still listed."""
    found = assessed("Unicorns graze on purple moonbeams.", POLICY, evidence(0.9))

    assert found.category == "multiple_issues"
    assert found.reasons == ("missing_citations", "low_grounding")


def test_there_are_eight_rejection_reasons() -> None:
    """Safety Mechanism, RejectionReason."""
    assert {r.value for r in RejectionReason} == {
        "low_confidence", "insufficient_context", "missing_citations", "invalid_citations", "off_topic",
        "low_grounding", "hallucination_detected", "multiple_issues",
    }  # fmt: skip


def test_a_rejected_answer_becomes_i_dont_know() -> None:
    """Safety Mechanism: its own sentence, with its own scope."""
    policy = SafetyPolicy(scope="NCERT textbooks")

    assert assessed("It is Olympus.", policy, Evidence()).fallback_text == (
        "I don't know based on NCERT textbooks."
    )


def test_the_result_object_has_every_published_field() -> None:
    """Safety Mechanism, SafetyCheckResult and its diagnostic_info."""
    found = assessed("It is Olympus.", POLICY, Evidence())
    result = found.diagnostics

    assert set(result) == {
        "should_reject", "rejection_reason", "confidence_score", "passed_checks", "failed_checks",
        "explanation", "diagnostic_info",
    }  # fmt: skip
    assert (result["should_reject"], result["rejection_reason"]) == (True, "insufficient_context")
    assert isinstance(result["diagnostic_info"], dict)
    assert result["diagnostic_info"]["context_sufficiency"] == {
        "passed": False,
        "details": "0 passages, required 1; 0 characters in all passages, required 100",
    }


@pytest.mark.parametrize(("similarity", "refused"), [(0.9, False), (0.25, True)])
def test_the_query_only_mode_runs_before_generation(similarity: float, refused: bool) -> None:
    """Safety Mechanism: checks 1 to 3 need no answer, so no model is paid."""
    found = early_refusal(query="How do I bake cookies?", evidence=evidence(similarity), policy=POLICY)

    assert (found is not None) is refused
    assert found is None or found.category == "off_topic"
