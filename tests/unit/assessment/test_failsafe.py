"""FailsafeNode (FailsafeNode): every number in it that is a rule."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from tests.support.fakes import FakeJudge
from tests.support.readings import reading
from tests.unit.assessment.samples import Answer, asked, assessed, calls_for, evidence
from worker.assessment import Evidence, RunFailure, parse_policy
from worker.assessment.policies.failsafe import rule_score
from worker.assessment.policies.failsafe_policy import (
    CATEGORY_KEYWORDS,
    ERROR_KEYWORDS,
    PARTIAL_INDICATORS,
    RESPONSES,
    UNCERTAINTY_INDICATORS,
    ErrorKind,
    FailsafePolicy,
)
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.policies.outcomes import with_timestamp
from worker.errors import ModelUnavailable, PolicyRejected
from worker.model import Action, Json

POLICY = FailsafePolicy()
LONG = " The parcel left the warehouse in Hamburg on Monday morning."


def judged_as(confidence: Json) -> str:
    """A judge's answer."""
    return reading(scores={"confidence": confidence})


@pytest.mark.parametrize(
    ("draft", "penalties"),
    [
        ("x" * 50, (0.0, 0.0, 0.0, 0.0)),
        ("x" * 49, (0.0, 0.0, 0.2, 0.0)),
        ("Maybe." + LONG, (0.1, 0.0, 0.0, 0.0)),
        ("Maybe. Maybe." + LONG, (0.1, 0.0, 0.0, 0.0)),
        ("Maybe, possibly, I think." + LONG, (0.3, 0.0, 0.0, 0.0)),
        ("; ".join(UNCERTAINTY_INDICATORS), (0.5, 0.0, 0.0, 0.15 * 2)),
        ("Incomplete." + LONG, (0.0, 0.1, 0.0, 0.0)),
        ("Partial, incomplete, limited, to some extent." + LONG, (0.0, 0.3, 0.0, 0.0)),
        ("An error." + LONG, (0.0, 0.0, 0.0, 0.15)),
        ("An error, an exception." + LONG, (0.0, 0.0, 0.0, 0.3)),
        ("An error, an exception, it failed." + LONG, (0.0, 0.0, 0.0, 0.4)),
        ("Unlimited terror." + LONG, (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_penalties_are_those_of_failsafe_node(draft: str, penalties: tuple[float, ...]) -> None:
    """FailsafeNode: -0.1 each to -0.5, -0.1 each to -0.3, -0.2 under 50 characters, -0.15 each to -0.4."""
    found = rule_score(draft, POLICY)

    assert (found.uncertainty, found.partial, found.length, found.errors) == pytest.approx(penalties)


def test_the_published_lists_are_complete() -> None:
    """FailsafeNode: 18 uncertainty and 8 partial indicators, 5 error keywords, each counted; 6 categories."""
    sizes = (len(UNCERTAINTY_INDICATORS), len(PARTIAL_INDICATORS), len(ERROR_KEYWORDS), len(ErrorKind))

    assert sizes == (18, 8, 5, 6)
    assert all(rule_score(each + LONG, POLICY).uncertainty >= 0.1 for each in UNCERTAINTY_INDICATORS)
    assert all(rule_score(each + LONG, POLICY).partial >= 0.1 for each in PARTIAL_INDICATORS)
    assert all(rule_score(each + LONG, POLICY).errors >= 0.15 for each in ERROR_KEYWORDS)


def test_the_score_starts_at_one_and_never_leaves_0_to_1() -> None:
    """FailsafeNode: max(0, min(1, 1.0 - penalties))."""
    worst = "I'm not sure, maybe; uncertain, unclear, ambiguous; partial, limited, incomplete; failed, unable"

    assert rule_score("A complete and certain answer" + LONG, POLICY).score == 1.0
    assert rule_score(worst, POLICY).score == 0.0
    assert rule_score("maybe", POLICY).score == pytest.approx(0.7)


@pytest.mark.parametrize(("draft", "asked"), [("Maybe." + LONG, 0), ("Maybe, possibly, I think." + LONG, 1)])
def test_the_judge_is_asked_below_0_8(draft: str, asked: int) -> None:
    """FailsafeNode: AI-enhanced assessment when the rule score is below 0.8."""
    assert calls_for(draft, POLICY) == asked


def test_a_rule_score_of_exactly_0_8_needs_no_judge() -> None:
    """FailsafeNode: below 0.8, not at it."""
    assert calls_for("Short and sure.", POLICY) == 0


@pytest.mark.parametrize(("judged", "confidence", "action"), [(0.9, 0.8, "send"), (0.2, 0.45, "fallback")])
def test_the_judges_score_weighs_half(judged: float, confidence: float, action: str) -> None:
    """The document does not say how the two combine; the mean lets a judge raise and lower."""
    draft = "I think, I believe, it could be so." + LONG
    policy = FailsafePolicy(trigger_on_category=False)
    found = assessed(draft, policy, answer=judged_as(judged))

    assert (round(found.confidence, 9), found.action) == (confidence, action)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, "judge_off"),
        (ModelUnavailable("down"), "judge_unavailable"),
        ("", "judge_answer_empty"),
        ("0.9", "judge_answer_is_not_json"),
        (judged_as("yes"), "judge_answer_has_no_scores"),
        (judged_as(7), "judge_answer_out_of_range"),
    ],
)
def test_an_answer_without_a_score_leaves_that_of_the_words(answer: Answer | None, outcome: str) -> None:
    """The outcome is named among the failed checks."""
    found = assessed("I think, I believe, it could be so." + LONG, POLICY, answer=answer)

    assert found.confidence == pytest.approx(0.7)
    assert outcome in found.failed_checks


@pytest.mark.parametrize("draft", ["Maybe, possibly, I think." + LONG, "We left. " + LONG])
def test_a_failsafe_and_the_guardrail_after_it_share_one_call(draft: str) -> None:
    """Each gets its own scores from one reading."""
    judge = FakeJudge([reading(scores={"confidence": 1.0, "grounding": 1.0, "certainty": 1.0})])
    policy = FailsafePolicy(guardrail=GuardrailPolicy(), trigger_on_category=False)
    found = asyncio.run(asked(draft, policy, judge))

    assert len(judge.asked) == 1
    assert {"grounding", "certainty"} <= judge.asked[0].aspects.keys()
    assert ("confidence" in judge.asked[0].aspects) == draft.startswith("Maybe")
    assert (found.policy, found.action, found.passed_checks[0]) == ("guardrail@1", Action.SEND, "failsafe")


@pytest.mark.parametrize(
    ("threshold", "action"), [(0.7, Action.SEND), (0.8, Action.SEND), (0.9, Action.FALLBACK)]
)
def test_the_threshold_is_a_lower_bound_that_can_be_changed(threshold: float, action: Action) -> None:
    """FailsafeNode: confidence_threshold, default 0.7; at the threshold a reply passes."""
    policy = FailsafePolicy(confidence_threshold=threshold)

    assert assessed("It is open on Mondays.", policy).action is action


@pytest.mark.parametrize(
    ("judged", "confidence", "action"), [(0.8, 0.7, Action.SEND), (0.78, 0.69, Action.FALLBACK)]
)
def test_the_threshold_is_0_7_unless_it_is_set(judged: float, confidence: float, action: Action) -> None:
    """FailsafeNode: confidence_threshold defaults to 0.7, and 0.7 itself passes."""
    draft = "I think, I believe, it could be so; a limited one." + LONG
    found = assessed(draft, FailsafePolicy(trigger_on_category=False), answer=judged_as(judged))

    assert (round(found.confidence, 9), found.action) == (confidence, action)


def test_a_switched_off_failsafe_lets_everything_through() -> None:
    """FailsafeNode: failsafe_enabled."""
    found = assessed("I'm not sure, maybe, error.", FailsafePolicy(enabled=False))

    assert (found.action, found.category) == (Action.SEND, "disabled")


def test_the_published_configuration_is_read_as_it_stands() -> None:
    """FailsafeNode: {"failsafe_enabled": True, "confidence_threshold": 0.7}."""
    policy = parse_policy({"name": "failsafe", "failsafe_enabled": True, "confidence_threshold": 0.9})

    assert policy == FailsafePolicy(enabled=True, confidence_threshold=0.9)


@pytest.mark.parametrize(
    ("keyword", "category"),
    [(word, category) for category, words in CATEGORY_KEYWORDS.items() for word in words],
)
def test_every_example_keyword_finds_its_category(keyword: str, category: ErrorKind) -> None:
    """FailsafeNode, the table of six categories; words of two categories belong to the more specific."""
    found = assessed(f"This is {keyword}.{LONG}", POLICY, answer=judged_as(0.5))

    assert found.category == category
    assert found.fallback_text == RESPONSES[category]


RIGHT_ANSWERS = (
    "Your session ends after a timeout of 30 minutes, and then you sign in again.",
    "If an error occurred, restart the router and wait until the light is green.",
    "If the manual is unclear, watch the video on the product page.",
    "Delivery can take longer, possibly up to five working days.",
    "Cards that we cannot process are refused, and nothing is charged.",
    "The message 'error occurred' means that the battery of the lamp is empty.",
    "The oven switches off when the programme timed out after 90 minutes.",
    "The warranty covers it when an execution failed because of a broken part.",
    "Reset links that are not used become invalid: a request expired link shows a white page.",
    "The label is ambiguous by law, so both sizes are printed on the box of the shirt.",
    "We ship to Norway, maybe from next spring also to Iceland and the Faroe Islands.",
)
"""Answers about products and rules in which a word of a category stands."""


@pytest.mark.parametrize("draft", RIGHT_ANSWERS)
def test_a_right_answer_with_a_word_of_a_category_is_sent(draft: str) -> None:
    """The category triggers only when the reply admits a failure of its own."""
    found = assessed(draft, POLICY, answer=0.9)

    assert (found.action, found.category, found.fallback_text) == (Action.SEND, "", None)


@pytest.mark.parametrize(
    "draft",
    [
        "I'm sorry, the search for an answer timed out before anything was found in the documents.",
        "Unfortunately an error occurred while I was looking up the delivery date of this order for you.",
        "Your question is unclear, so it is hard for the shop to say which of the lamps is meant here.",
        "I ran into a technical limitation while reading the long list of products of the shop today.",
        "The tool failed, so the delivery date of the parcel with the two lamps is not known at the moment.",
    ],
)
def test_a_reply_that_admits_its_own_failure_triggers_at_any_score(draft: str) -> None:
    """Also in a long sentence."""
    assert assessed(draft, POLICY, answer=1.0).action is Action.FALLBACK


@pytest.mark.parametrize(
    ("failure", "category"),
    [(RunFailure.TOOL_FAILURE, "TOOL_FAILURE"), (RunFailure.TIMEOUT, "TIMEOUT")],
)
def test_typed_errors_give_the_category_without_any_word(failure: RunFailure, category: str) -> None:
    """A failed or timed-out tool is recognised by its error, with any draft."""
    found = assessed("The parcel is on its way." + LONG, POLICY, Evidence(failures=(failure,)))

    assert (found.category, found.action) == (category, Action.FALLBACK)


@pytest.mark.parametrize(
    ("draft", "published", "computed", "category"),
    [
        ("I'm not sure about the best solution for this programming problem...", 0.6, 0.9, "UNCERTAINTY"),
        ("Need more details to accurately answer this question", 0.8, 1.0, "INSUFFICIENT_INFO"),
        ("Tool execution failed, unable to complete the requested operation", 0.5, 0.6, "TOOL_FAILURE"),
    ],
)
def test_the_worked_scenarios_end_as_published(
    draft: str, published: float, computed: float, category: str
) -> None:
    """FailsafeNode's three scenarios: category and output hold; its figures contradict its own algorithm."""
    found = assessed(draft, POLICY, answer=judged_as(computed))

    assert found.category == category
    assert found.action is Action.FALLBACK
    assert found.fallback_text == RESPONSES[category]
    assert found.diagnostics["confidence_score"] == pytest.approx(computed) != published


def test_responses_can_be_the_accounts_own() -> None:
    """FailsafeNode: failsafe responses are customisable, per category."""
    policy = FailsafePolicy(responses={"TIMEOUT": "One moment please."})
    found = assessed("The request timed out." + LONG, policy)
    other = assessed("There are multiple interpretations." + LONG, policy)

    assert found.fallback_text == "One moment please."
    assert other.fallback_text == RESPONSES[ErrorKind.AMBIGUOUS_QUERY]


AT = datetime(2025, 8, 13, 0, 35, 58, 436909, tzinfo=UTC)


def test_the_record_of_a_pass_has_the_published_fields() -> None:
    """FailsafeNode, "Successful Pass"; the time is an argument."""
    found = assessed("It is open on Mondays.", POLICY)

    assert with_timestamp(found.diagnostics, AT) == {
        "confidence_score": 0.8,
        "assessment": "PASSED",
        "timestamp": "2025-08-13T00:35:58.436909+00:00",
    }


def test_the_record_of_a_trigger_has_the_published_fields() -> None:
    """FailsafeNode, "Failsafe Triggered", with a preview of the refused reply."""
    found = assessed("I'm not sure about the answer to this question" + LONG * 2, POLICY)
    record = found.diagnostics

    assert set(record) == {
        "confidence_score", "error_category", "assessment", "original_response_preview",
    }  # fmt: skip
    assert (record["assessment"], record["error_category"]) == ("FAILSAFE_TRIGGERED", "UNCERTAINTY")
    assert str(record["original_response_preview"]).startswith("I'm not sure about the answer")
    assert str(record["original_response_preview"]).endswith("...")


def test_a_failsafe_may_escalate_or_stay_silent_instead() -> None:
    """What becomes of a refused reply is the account's choice; no text is sent then."""
    found = assessed(
        "The request timed out." + LONG, FailsafePolicy(low_action=Action.ESCALATE), evidence(0.9)
    )

    assert (found.action, found.fallback_text) == (Action.ESCALATE, None)


def test_word_lists_can_be_the_accounts_own() -> None:
    """FailsafeNode: "Keyword Expansion", per account; long and short forms count as the published do."""
    policy = parse_policy(
        {
            "name": "failsafe",
            "uncertainty_indicators": ["I do not have a clue", "keine Ahnung"],
            "partial_indicators": [],
            "error_keywords": ["Störung"],
            "category_keywords": {"TIMEOUT": ["zu lange gedauert"], "UNCERTAINTY": []},
        }
    )
    assert isinstance(policy, FailsafePolicy)
    found = rule_score("I don't have a clue. Keine Ahnung, eine Störung." + LONG, policy)
    timeout = assessed("Das hat leider zu lange gedauert." + LONG, policy)
    published = assessed("The request timed out, it is partial and maybe incomplete." + LONG, policy)
    other = assessed("An error occurred." + LONG, policy)

    assert (found.uncertainty, found.partial, found.errors) == pytest.approx((0.2, 0.0, 0.15))
    assert timeout.category == "TIMEOUT"
    assert (published.category, published.confidence) == ("", 1.0)
    assert other.category == "TOOL_FAILURE"


def test_deductions_can_be_the_accounts_own() -> None:
    """Each deduction and each limit by its own field; reasons name the account's length."""
    policy = FailsafePolicy(
        uncertainty_penalty=0.2,
        most_uncertainty_penalty=0.3,
        partial_penalty=0.05,
        most_partial_penalty=0.05,
        error_penalty=0.01,
        most_error_penalty=0.02,
        length_penalty=0.1,
        short_chars=200,
    )
    draft = "Maybe, possibly, I think; partial, incomplete; error, failed, exception."
    found = rule_score(draft, policy)

    assert (found.uncertainty, found.partial, found.errors, found.length) == pytest.approx(
        (0.3, 0.05, 0.02, 0.1)
    )
    assert rule_score("Maybe." + LONG, FailsafePolicy(uncertainty_penalty=0.2)).uncertainty == 0.2
    one = rule_score("Incomplete, an error." + LONG, FailsafePolicy(partial_penalty=0.2, error_penalty=0.3))
    shown = assessed(draft, policy, answer=judged_as(1.0)).reasons

    assert (one.partial, one.errors) == pytest.approx((0.2, 0.3))

    assert "fewer than 200 characters: -0.10" in shown


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("uncertainty_penalty", 1.5, "uncertainty_penalty: expected a number from 0 to 1, got 1.5"),
        ("most_error_penalty", -1, "most_error_penalty: expected a number from 0 to 1, got -1.0"),
        ("short_chars", -1, "short_chars: expected a number from 0 to 10000, got -1"),
        ("error_keywords", [" "], "error_keywords: expected words or phrases, got an empty one"),
        ("error_keywords", ["x" * 101], "error_keywords: expected at most 100 characters, got 101"),
        ("partial_indicators", ["x"] * 501, "partial_indicators: expected at most 500 words or phrases"),
        ("category_keywords", {"TIMEOUT": [""]}, "category_keywords.TIMEOUT: expected words or phrases"),
        ("category_keywords", {"LATE": ["x"]}, "category_keywords: expected categories of TOOL_FAILURE"),
        ("profile_responses", {"vip": {"X": "y"}}, "profile_responses.vip: expected categories of TOOL_"),
        ("profile_key", " ", "profile_key: expected the name of a metadata key, got ' '"),
        ("error_keywords", "error", "error_keywords: expected a valid array, got 'error'"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: Json, problem: str) -> None:
    """With what is expected and what came."""
    with pytest.raises(PolicyRejected) as refused:
        parse_policy({"name": "failsafe", field: value})

    assert refused.value.problems[0].startswith(problem)
