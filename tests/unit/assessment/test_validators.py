"""Confidence Validation (Confidence Validation & Fallback): every number in it that is a rule."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pytest

from tests.unit.assessment.samples import assessed, evidence, passage
from worker.assessment import Evidence, parse_policy
from worker.assessment.policies.validator_metrics import (
    ValidatorCounts,
    ValidatorMetrics,
    metrics_from_counts,
)
from worker.assessment.policies.validators import (
    ValidatorFault,
    ValidatorsPolicy,
    confidence_score,
    confidence_tier,
    fallback_answer,
    is_overconfident,
)
from worker.model import Action, Assessment, Tier

POLICY = ValidatorsPolicy()
NOTHING = Evidence()
CITED = "You can return any item within 30 days of delivery [1]."


@pytest.mark.parametrize(
    ("documents", "faults", "confidence"),
    [
        (0, (), 0.3),
        (1, (), 0.6),
        (2, (), 0.9),
        (7, (), 0.9),
        (0, (ValidatorFault.MISSING_UNCERTAINTY,), 0.1),
        (0, (ValidatorFault.MISSING_CITATION, ValidatorFault.MISSING_UNCERTAINTY), 0.1),
        (2, (ValidatorFault.MISSING_CITATION,), 0.6),
        (1, (ValidatorFault.MISSING_CITATION,), 0.3),
        (2, (ValidatorFault.LOW_OVERLAP,), 0.65),
        (2, (ValidatorFault.NUMERIC_UNITS,), 0.7),
        (2, (ValidatorFault.ETHICS,), 0.7),
        (
            1,
            (
                ValidatorFault.MISSING_CITATION,
                ValidatorFault.LOW_OVERLAP,
                ValidatorFault.NUMERIC_UNITS,
                ValidatorFault.ETHICS,
            ),
            0.0,
        ),
    ],
)
def test_confidence_is_base_and_adjustments(
    documents: int, faults: tuple[ValidatorFault, ...], confidence: float
) -> None:
    """Confidence Validation: 0.2/0.5/0.8 by documents, +0.1 passed, 0.1, -0.2, -0.15, -0.1; never below 0."""
    assert confidence_score(documents, faults) == pytest.approx(confidence)


@pytest.mark.parametrize(
    ("score", "tier"),
    [
        (0.0, "low"),
        (0.3, "low"),
        (0.35, "low"),
        (0.39, "low"),
        (0.4, "medium"),
        (0.6, "medium"),
        (0.65, "medium"),
        (0.69, "medium"),
        (0.7, "high"),
        (1.0, "high"),
    ],
)
def test_score_ranges_are_0_4_and_0_7(score: float, tier: str) -> None:
    """Confidence Validation, "Score Ranges"; what it leaves between two ranges belongs to the lower."""
    assert confidence_tier(score) == tier


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I DON’T KNOW that.",
        "I'm not certain about it.",
        "I cannot answer this.",
        "Tôi không biết.",
        "Không có đủ thông tin.",
        "Tôi không thể trả lời.",
        "我不知道。",
        "我不确定。",
    ],
)
def test_uncertainty_is_known_in_three_languages(text: str) -> None:
    """Confidence Validation, "Uncertainty Patterns Detected", in any letter case."""
    found = assessed(text, POLICY, NOTHING)

    assert found.diagnostics["uncertainty_expressed"]
    assert (found.failed_checks, found.action) == ((), Action.SEND)


@pytest.mark.parametrize("text", ["It is definitely X.", "Chắc chắn 100% là X.", "绝对是这样。"])
def test_overconfidence_is_known_in_three_languages(text: str) -> None:
    """Confidence Validation: "Definitely X", "Chắc chắn 100%"."""
    assert is_overconfident(text)


@pytest.mark.parametrize(
    "text",
    [
        "The offer runs indefinitely.",
        "Uncertainly yours.",
        "It is not guaranteed.",
        "It isn't absolutely certain.",
        "Tôi không chắc chắn.",
        "我不肯定。",
        "The lamp holds 1100%.",
    ],
)
def test_a_word_within_a_word_or_a_denied_one_is_not_overconfident(text: str) -> None:
    """Only whole words claim certainty, and "not guaranteed" claims none."""
    assert not is_overconfident(text)


@pytest.mark.parametrize("text", ["It is 100% true.", "Guaranteed!", "Chắc chắn 100%."])
def test_a_claim_of_certainty_may_end_in_a_sign(text: str) -> None:
    """The sign is part of the phrase, and so is a word in NFD."""
    assert is_overconfident(text)
    assert is_overconfident(unicodedata.normalize("NFD", text))


@pytest.mark.parametrize(
    ("draft", "found", "failed"),
    [
        ("I don't know.", NOTHING, ()),
        (
            "It is open on Mondays.",
            NOTHING,
            ("missing_uncertainty_no_context", "missing_citation", "low_overlap"),
        ),
        (
            "It is definitely open on Mondays.",
            NOTHING,
            ("missing_uncertainty_no_context", "missing_citation", "low_overlap", "overconfident_no_context"),
        ),
        (CITED, evidence(0.9), ()),
        ("Definitely within 30 days of delivery [1].", evidence(0.9), ()),
        ("You can return any item within 30 days.", evidence(0.9), ("missing_citation",)),
        ("Xyzzy plugh quux [1].", evidence(0.9), ("low_overlap",)),
        ("You can return any item within 90 days [1].", evidence(0.9), ("numeric_units_unsupported",)),
        ("You can return any item within 30 hours [1].", evidence(0.9), ("numeric_units_unsupported",)),
    ],
)
def test_the_chain_names_what_fails(draft: str, found: Evidence, failed: tuple[str, ...]) -> None:
    """Validation: citation required, evidence overlap, units, uncertainty required without context."""
    assert set(assessed(draft, POLICY, found).failed_checks) == set(failed)


def test_the_overlap_threshold_is_0_01() -> None:
    """Confidence Validation, EvidenceOverlap(threshold=0.01): 1 word in 100 is enough, 1 in 200 is not."""
    context = evidence(0.9, text="Delivery " + RARE)

    assert POLICY.evidence_threshold == 0.01
    assert "low_overlap" not in assessed(f"delivery {words(99)} [1]", POLICY, context).failed_checks
    assert "low_overlap" in assessed(f"delivery {words(199)} [1]", POLICY, context).failed_checks


RARE = "zzyzx"


def words(count: int) -> str:
    """Distinct words that no context contains."""
    return " ".join(f"w{chr(97 + n // 26)}{chr(97 + n % 26)}q" for n in range(count))


def test_an_honest_dont_know_without_context_is_no_fault() -> None:
    """Validation contradicts itself here: one validator passes it, the citation trigger would not."""
    found = assessed("I don't know.", POLICY, NOTHING)

    assert (found.action, round(found.confidence, 9)) == (Action.SEND, 0.3)


@pytest.mark.parametrize(
    ("language", "marker"),
    [("en", "every 4 hours"), ("vi", "mỗi 4 giờ"), ("zh", "每4小时"), ("fr", "every 4 hours")],
)
def test_the_fallback_speaks_the_language_and_never_the_refused_reply(language: str, marker: str) -> None:
    """Confidence Validation: fallback text per language, learning every 4 hours, nothing of the original."""
    found = assessed(
        "The CEO is Zaphod Beeblebrox.",
        ValidatorsPolicy(learning_interval_hours=4),
        Evidence(query_language=language),
        query="Who is the CEO?",
    )

    assert found.action is Action.FALLBACK
    assert marker in str(found.fallback_text)
    assert "Zaphod" not in str(found.fallback_text)


def test_the_fallback_tells_the_language_of_the_question_itself() -> None:
    """Without a published language, the question's language is detected among those of the texts."""
    found = assessed(
        "Giám đốc là Zaphod.", POLICY, NOTHING, query="Giám đốc điều hành của công ty là ai vậy?"
    )

    assert str(found.fallback_text).startswith("Tôi không có đủ thông tin")


def test_an_account_that_learns_nothing_says_nothing_of_learning() -> None:
    """The sentence on learning is said only where an interval is set."""
    text = fallback_answer(ValidatorsPolicy(), "en")

    assert "hours" not in text
    assert "{" not in text


@pytest.mark.parametrize(("found", "action"), [(NOTHING, "fallback"), (evidence(0.9), "send")])
def test_a_missing_citation_triggers_the_fallback_only_without_context(found: Evidence, action: str) -> None:
    """Confidence Validation, "Fallback Triggers"."""
    assert assessed("You can return any item within 30 days.", POLICY, found).action == action


def test_a_reply_below_the_account_s_confidence_is_not_sent() -> None:
    """The design sends an invented sentence beside a passage: a low score has no consequence."""
    text, found = "Every order has carried a guarantee since 1987.", evidence(0.9)
    published = assessed(text, POLICY, found)
    strict = assessed(text, ValidatorsPolicy(min_confidence=0.4), found)

    assert (published.action, published.tier) == (Action.SEND, Tier.LOW)
    assert (strict.action, strict.tier) == (Action.FALLBACK, Tier.LOW)
    assert strict.explanation.endswith("confidence 0.05, below the account's 0.40.")
    assert (
        assessed("Returns are free [1].", ValidatorsPolicy(min_confidence=0.4), found).action is Action.SEND
    )


def test_a_missing_citation_alone_is_enough_without_context() -> None:
    """Confidence Validation, "Fallback Triggers": missing_citation + no context, with nothing else wrong."""
    policy = ValidatorsPolicy(require_uncertainty_when_no_context=False, evidence_threshold=0.0)
    found = assessed("It is open on Mondays.", policy, NOTHING)

    assert (found.failed_checks, found.action) == ((ValidatorFault.MISSING_CITATION,), Action.FALLBACK)


def test_low_overlap_triggers_the_fallback_only_without_context() -> None:
    """Confidence Validation, "Fallback Triggers": low_overlap + no context; no citation is valid there."""
    policy = ValidatorsPolicy(require_uncertainty_when_no_context=False)
    without = assessed("It is open on Mondays [1].", policy, NOTHING)
    with_context = assessed("Xyzzy plugh quux [1].", policy, evidence(0.9))

    assert (ValidatorFault.LOW_OVERLAP in without.failed_checks, without.action) == (True, Action.FALLBACK)
    assert (with_context.failed_checks, with_context.action) == ((ValidatorFault.LOW_OVERLAP,), Action.SEND)


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_the_fallback_offers_alternatives(language: str) -> None:
    """Confidence Validation: acknowledge, then reformulate, wait, or ask about a related topic."""
    words = {
        "en": ("don't have enough information", "differently", "again later", "related topic"),
        "vi": ("không có đủ thông tin", "cách khác", "hỏi lại sau", "liên quan"),
        "zh": ("没有足够的信息", "换一种问法", "稍后", "相关"),
    }
    text = fallback_answer(ValidatorsPolicy(), language)

    assert [each for each in words[language] if each not in text] == []


def test_the_ethics_adapter_calls_the_accounts_guard() -> None:
    """Confidence Validation: EthicsAdapter(guard_callable); None passes, a named principle fails."""
    guarded = ValidatorsPolicy(ethics_guard=lambda text: "privacy" if "item" in text else "")

    assert "ethics" in assessed(CITED, guarded).failed_checks
    assert assessed(CITED, guarded).action is Action.FALLBACK
    assert "ethics" not in assessed(CITED, POLICY).failed_checks


def test_what_the_documents_lack_is_suggested_for_learning() -> None:
    """Confidence Validation: learning_suggestions name the topics of the question no passage speaks of."""
    found = assessed(CITED, POLICY, query="Can I return a bicycle after delivery?")

    assert found.diagnostics["learning_suggestions"] == ["bicycle"]


def test_validation_info_has_the_published_fields() -> None:
    """Confidence Validation, "validation_info Structure"."""
    found = assessed(CITED, POLICY, Evidence(passages=(passage(), passage(number=1))))

    assert {
        "passed": True, "reasons": [], "used_fallback": False, "confidence_score": 0.9,
        "context_docs_count": 2,
    }.items() <= found.diagnostics.items()  # fmt: skip


def assessment_metrics(replies: Sequence[Assessment]) -> ValidatorMetrics:
    """The metrics of assessments, counted as the audit does."""
    infos = [each.diagnostics for each in replies]
    return metrics_from_counts(
        ValidatorCounts(
            replies=len(replies),
            confidence=sum(each.confidence for each in replies) / (len(replies) or 1),
            fallbacks=sum(bool(info["used_fallback"]) for info in infos),
            failed=sum(not info["passed"] for info in infos),
            doubts=sum(bool(info["uncertainty_expressed"]) for info in infos),
        )
    )


def test_the_seven_metrics() -> None:
    """Confidence Validation, "New Metrics": one good reply, one replaced, one honest."""
    replies = [
        assessed(CITED, POLICY),
        assessed("It is open on Mondays.", POLICY, NOTHING),
        assessed("I don't know.", POLICY, NOTHING),
    ]
    found = assessment_metrics(replies)

    assert found.avg_confidence_score == pytest.approx((0.6 + 0.1 + 0.3) / 3)
    assert (found.fallback_usage_count, round(found.fallback_usage_rate, 4)) == (1, 0.3333)
    assert (found.hallucination_prevented_count, found.hallucination_reduction_rate) == (1, 1.0)
    assert (found.uncertainty_expressed_count, round(found.uncertainty_expression_rate, 4)) == (1, 0.3333)


def test_the_metrics_of_nothing_are_nought() -> None:
    """No reply is no division by zero."""
    assert assessment_metrics([]).avg_confidence_score == 0.0


def test_the_environment_names_of_the_document_are_read() -> None:
    """Confidence Validation: ENABLE_VALIDATORS, VALIDATOR_EVIDENCE_THRESHOLD."""
    policy = parse_policy(
        {"name": "validators", "ENABLE_VALIDATORS": False, "VALIDATOR_EVIDENCE_THRESHOLD": 0.05}
    )

    assert policy == ValidatorsPolicy(enabled=False, evidence_threshold=0.05)
    assert assessed("It is open on Mondays.", policy, NOTHING).category == "disabled"
