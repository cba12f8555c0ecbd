"""The published lists, texts and prompts as literals, which the constants of the code must equal."""

from __future__ import annotations

from tests.unit.assessment.samples import evidence
from worker.assessment import DraftCase, wanted_readings
from worker.assessment.policies.failsafe_policy import (
    CATEGORY_KEYWORDS,
    ERROR_KEYWORDS,
    PARTIAL_INDICATORS,
    RESPONSES,
    UNCERTAINTY_INDICATORS,
    FailsafePolicy,
)
from worker.assessment.policies.guardrail import FALLBACK_MESSAGE, GuardrailPolicy
from worker.assessment.policies.validators import FALLBACK_TRIGGERS, is_overconfident
from worker.settings import Settings


def test_failsafe_has_the_published_indicators() -> None:
    """FailsafeNode, its three lists."""
    assert UNCERTAINTY_INDICATORS == (
        "i'm not sure", "i don't know", "uncertain", "maybe", "possibly", "i think", "i believe", "might be",
        "could be", "not certain", "unclear", "ambiguous", "difficult to determine", "hard to say",
        "i cannot", "i can't", "unable to", "insufficient information",
    )  # fmt: skip
    assert PARTIAL_INDICATORS == (
        "partial", "incomplete", "some of", "part of", "limited", "only able to", "partially",
        "to some extent",
    )  # fmt: skip
    assert ERROR_KEYWORDS == ("error", "failed", "exception", "cannot", "unable")


def test_failsafe_has_the_published_keywords_of_six_categories() -> None:
    """FailsafeNode, "Smart Error Categorization"."""
    assert {kind.value: words for kind, words in CATEGORY_KEYWORDS.items()} == {
        "UNCERTAINTY": ("not sure", "don't know", "maybe", "possibly"),
        "INSUFFICIENT_INFO": ("not enough information", "need more details"),
        "AMBIGUOUS_QUERY": ("ambiguous", "unclear", "multiple interpretations"),
        "TOOL_FAILURE": ("tool failed", "execution failed", "error occurred"),
        "TIMEOUT": ("timeout", "timed out", "request expired"),
        "TECHNICAL_LIMITATION": ("technical limitation", "cannot process", "not capable"),
    }


def test_failsafe_has_a_text_for_each_category() -> None:
    """The first three are published; the others say what happened and what to do."""
    assert dict(RESPONSES) == {
        "UNCERTAINTY": (
            "I understand there's uncertainty about this question. Let me honestly explain what I "
            "can be confident about and suggest specific ways you could get better help."
        ),
        "INSUFFICIENT_INFO": (
            "I need more information to provide a complete answer to your question. Could you "
            "please provide additional details about your specific requirements, context, or "
            "constraints?"
        ),
        "TECHNICAL_LIMITATION": (
            "I encountered a technical limitation while processing your request. I can try to help"
            " in a different way if you'd like to rephrase your question or break it down into "
            "smaller parts."
        ),
        "AMBIGUOUS_QUERY": (
            "Your question can be read in more than one way. Could you tell me which of them you mean?"
        ),
        "TOOL_FAILURE": (
            "Something I need in order to answer did not work. Please try again in a moment, or "
            "tell me what you need and I will try another way."
        ),
        "TIMEOUT": (
            "Finding the answer took too long. Please try again, or ask for one part of it at a time."
        ),
    }


def test_failsafe_asks_the_judge_for_the_published_three_things() -> None:
    """FailsafeNode: certainty, completeness and accuracy."""
    draft = "Maybe, possibly, I think. " + "The parcel left on Monday. " * 3
    case = DraftCase(query="", evidence=evidence(0.9), draft=draft)
    (scale,) = wanted_readings(case, FailsafePolicy()).aspects.values()
    assert all(word in scale for word in ("certainty", "completeness", "facts follow from the context"))


def test_guardrail_has_the_published_message_and_bands() -> None:
    """Confidence Guardrail, "Default fallback message" and "Grounding Score"."""
    case = DraftCase(query="", evidence=evidence(0.9), draft="You can return it within 30 days.")
    grounding = wanted_readings(case, GuardrailPolicy()).aspects["grounding"]

    assert FALLBACK_MESSAGE == (
        "I'm not confident I can provide an accurate answer to this question based on the available"
        " information. Let me connect you with a team member who can help."
    )
    assert all(
        band in grounding
        for band in (
            "1.0: entirely based on the provided context",
            "0.7 to 0.9: mostly grounded with minor general knowledge",
            "0.4 to 0.6: a mix of context and general knowledge",
            "0.1 to 0.3: primarily general knowledge",
            "0.0: completely ignores or contradicts the context",
        )
    )


def test_validators_know_words_of_overconfidence_in_three_languages() -> None:
    """Confidence Validation: English, Vietnamese and Chinese; a negated word claims nothing."""
    claims = (
        "definitely", "absolutely", "certainly", "without a doubt", "undoubtedly", "100%", "guaranteed",
        "chắc chắn", "hoàn toàn chắc", "không nghi ngờ gì", "绝对", "肯定", "毫无疑问", "百分之百",
    )  # fmt: skip

    assert [claim for claim in claims if not is_overconfident(f"{claim}.")] == []
    assert not is_overconfident("It is not guaranteed.")


def test_validators_fall_back_on_the_published_faults() -> None:
    """Confidence Validation, "Fallback Triggers", and overconfidence, which is ours.

    Low overlap never comes alone: without context no citation is valid.
    """
    assert {fault.value for fault in FALLBACK_TRIGGERS} == {
        "missing_uncertainty_no_context", "missing_citation", "low_overlap", "overconfident_no_context",
    }  # fmt: skip


def test_the_first_wait_between_attempts_is_two_seconds() -> None:
    """Silent Guardrails: 2.0 s, then 4.0 s."""
    assert Settings.model_fields["model_first_wait_s"].default == 2.0
