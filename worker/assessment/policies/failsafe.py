"""Policy ``failsafe`` (FailsafeNode v1.0.0): words of doubt and error lower a score of 1.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from worker.assessment.judge import Aspect, JudgeAnswer, JudgeOutcome, JudgeQuestion
from worker.assessment.non_answers.recogniser import is_non_answer, without_idioms
from worker.assessment.policies.outcomes import check_policy, draft_preview, policy_name, undecided_reasons
from worker.assessment.text.wordlists import phrase_pattern
from worker.assessment.values import DraftCase, ReplyKind, RunFailure
from worker.model import Action, Assessment, Json, Tier

UNCERTAINTY_INDICATORS = (
    "i'm not sure", "i don't know", "uncertain", "maybe", "possibly", "i think", "i believe", "might be",
    "could be", "not certain", "unclear", "ambiguous", "difficult to determine", "hard to say", "i cannot",
    "i can't", "unable to", "insufficient information",
)  # fmt: skip
"""FailsafeNode, "Uncertainty Indicators"."""

PARTIAL_INDICATORS = (
    "partial", "incomplete", "some of", "part of", "limited", "only able to", "partially", "to some extent",
)  # fmt: skip
"""FailsafeNode, "Partial Response Indicators"."""

ERROR_KEYWORDS = ("error", "failed", "exception", "cannot", "unable")
"""FailsafeNode, "Error Keywords"."""


class ErrorKind(StrEnum):
    """The six problem categories, in the order of matching: the most specific first."""

    TOOL_FAILURE = "TOOL_FAILURE"
    TIMEOUT = "TIMEOUT"
    TECHNICAL_LIMITATION = "TECHNICAL_LIMITATION"
    INSUFFICIENT_INFO = "INSUFFICIENT_INFO"
    AMBIGUOUS_QUERY = "AMBIGUOUS_QUERY"
    UNCERTAINTY = "UNCERTAINTY"


CATEGORY_KEYWORDS: Mapping[ErrorKind, tuple[str, ...]] = MappingProxyType(
    {
        ErrorKind.TOOL_FAILURE: ("tool failed", "execution failed", "error occurred"),
        ErrorKind.TIMEOUT: ("timeout", "timed out", "request expired"),
        ErrorKind.TECHNICAL_LIMITATION: ("technical limitation", "cannot process", "not capable"),
        ErrorKind.INSUFFICIENT_INFO: ("not enough information", "need more details"),
        ErrorKind.AMBIGUOUS_QUERY: ("ambiguous", "unclear", "multiple interpretations"),
        ErrorKind.UNCERTAINTY: ("not sure", "don't know", "maybe", "possibly"),
    }
)
"""FailsafeNode, "Smart Error Categorization", example trigger keywords."""

RESPONSES: Mapping[str, str] = MappingProxyType(
    {
        # the first three are FailsafeNode's templates; the others follow their style
        ErrorKind.UNCERTAINTY: "I understand there's uncertainty about this question. Let me honestly "
        "explain what I can be confident about and suggest specific ways you could get better help.",
        ErrorKind.INSUFFICIENT_INFO: "I need more information to provide a complete answer to your question. "
        "Could you please provide additional details about your specific requirements, context, or "
        "constraints?",
        ErrorKind.TECHNICAL_LIMITATION: "I encountered a technical limitation while processing your request. "
        "I can try to help in a different way if you'd like to rephrase your question or break it down into "
        "smaller parts.",
        ErrorKind.AMBIGUOUS_QUERY: "Your question can be read in more than one way. Could you tell me "
        "which of them you mean?",
        ErrorKind.TOOL_FAILURE: "Something I need in order to answer did not work. Please try again in a "
        "moment, or tell me what you need and I will try another way.",
        ErrorKind.TIMEOUT: "Finding the answer took too long. Please try again, or ask for one part of it "
        "at a time.",
    }
)

_JUDGE_INSTRUCTION = (
    "Rate how far the answer can be trusted: the certainty of its statements, its completeness and whether "
    "its facts follow from the context. Reply with one number between 0.0 and 1.0 and nothing else."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailsafePolicy:
    """FailsafeNode's configuration; ``enabled`` and ``confidence_threshold`` are its two options.

    Attributes:
        confidence_threshold: 0..1, below it the failsafe triggers (FailsafeNode: 0.7).
        judge_below: 0..1, below this rule score the judge is asked (FailsafeNode: 0.8).
        trigger_on_category: whether a recognised category also triggers above the threshold, as in
            FailsafeNode's scenario 2.
        preview_chars: characters of a refused reply that its record keeps.
        responses: category -> text sent instead.
        low_action: the action for a refused reply.
    """

    version: int = 1
    enabled: bool = True
    test_mode: bool = False
    gate: bool = False
    confidence_threshold: float = 0.7
    judge_below: float = 0.8
    trigger_on_category: bool = True
    preview_chars: int = 100
    responses: Mapping[str, str] = field(default_factory=lambda: dict(RESPONSES))
    low_action: Action = Action.FALLBACK

    def __post_init__(self) -> None:
        counts = {"preview_chars": (0, 10_000)}
        check_policy(self, shares=("confidence_threshold", "judge_below"), counts=counts)
        if unknown := sorted(self.responses.keys() - set(ErrorKind)):
            raise ValueError(f"responses: expected categories of {', '.join(ErrorKind)}, got {unknown}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleScore:
    """FailsafeNode's rule-based score and its penalties."""

    uncertainty: float
    partial: float
    length: float
    errors: float

    @property
    def score(self) -> float:
        """0..1: 1.0 minus all penalties."""
        return max(0.0, min(1.0, 1.0 - self.uncertainty - self.partial - self.length - self.errors))


def rule_score(draft: str) -> RuleScore:
    """The penalties of a draft's words, by FailsafeNode.

    0.1 per word of doubt up to 0.5, 0.1 per word of a partial answer up to 0.3, 0.2 under 50 characters, 0.15
    per error keyword up to 0.4. Each indicator counts once, as a whole word or phrase.
    """
    return RuleScore(
        uncertainty=min(0.5, 0.1 * _present(UNCERTAINTY_INDICATORS, draft)),
        partial=min(0.3, 0.1 * _present(PARTIAL_INDICATORS, draft)),
        length=0.2 if len(draft) < 50 else 0.0,
        errors=min(0.4, 0.15 * _present(ERROR_KEYWORDS, draft)),
    )


def _present(phrases: Sequence[str], draft: str) -> int:
    text = _contracted(draft)
    return sum(phrase_pattern((phrase,)).search(text) is not None for phrase in phrases)


def _contracted(draft: str) -> str:
    """The draft in the spelling of the lists, without idioms: "don't" for "do not", "i'm" for "i am"."""
    return (
        without_idioms(draft).replace("do not", "don't").replace("i am ", "i'm ").replace("can not", "cannot")
    )


def problem_category(case: DraftCase) -> ErrorKind | None:
    """The problem category: from typed errors first, then from the words of the draft.

    A non-answer in any language is ``UNCERTAINTY``, like the published keywords.
    """
    if RunFailure.TIMEOUT in case.evidence.failures:
        return ErrorKind.TIMEOUT
    if RunFailure.TOOL_FAILURE in case.evidence.failures:
        return ErrorKind.TOOL_FAILURE
    text = _contracted(case.draft)
    matched = (c for c, keywords in CATEGORY_KEYWORDS.items() if phrase_pattern(keywords).search(text))
    return next(matched, ErrorKind.UNCERTAINTY if is_non_answer(case.draft) else None)


def assessment_or_questions(
    case: DraftCase, policy: FailsafePolicy
) -> Assessment | tuple[JudgeQuestion, ...]:
    """The assessment by words only, or the judge's question when the score is below ``judge_below``."""
    if rule_score(case.draft).score < policy.judge_below and not is_non_answer(case.draft):
        return (
            JudgeQuestion(
                aspect=Aspect.CONFIDENCE,
                query=case.query,
                context=case.numbered_context,
                claim=case.draft,
                instruction=_JUDGE_INSTRUCTION,
            ),
        )
    return assessment_from_answers(case, policy, ())


def assessment_from_answers(
    case: DraftCase, policy: FailsafePolicy, answers: Sequence[JudgeAnswer]
) -> Assessment:
    """The assessment; the judge's score weighs as much as the rules', a failed answer weighs nothing."""
    rules = rule_score(case.draft)
    judged = next((a.score for a in answers if a.score is not None), None)
    confidence = rules.score if judged is None else (rules.score + judged) / 2
    category = problem_category(case)
    # ten decimals: 1.0 - 0.1 - 0.2 is 0.7000000000000001 in floating point and 0.7 in the design
    confidence = round(confidence, 10)
    by_score = confidence < policy.confidence_threshold
    unanswered = is_non_answer(case.draft)
    triggered = by_score or unanswered or (policy.trigger_on_category and category is not None)
    if triggered and category is None:
        category = ErrorKind.UNCERTAINTY
    return Assessment(
        policy=policy_name("failsafe", policy.version),
        confidence=0.0 if unanswered else confidence,
        tier=Tier.LOW if triggered else Tier.HIGH,
        action=policy.low_action if triggered else Action.SEND,
        category=category.value if category else "",
        passed_checks=() if by_score else ("confidence",),
        failed_checks=(
            *_failed(by_score=by_score, category=category, answers=answers),
            *((ReplyKind.REFUSAL,) if unanswered else ()),
        ),
        reasons=(*_reasons(rules), *undecided_reasons(answers)),
        signals=_signals(rules, judged),
        explanation=_explanation(None if unanswered else confidence, policy, category if triggered else None),
        diagnostics=_record(case, policy, confidence, category if triggered else None),
        fallback_text=_response(policy, category) if triggered else None,
    )


def _response(policy: FailsafePolicy, category: ErrorKind | None) -> str | None:
    """The text for a category, the account's own before the default, if the policy sends one."""
    if category is None or policy.low_action is not Action.FALLBACK:
        return None
    return policy.responses.get(category.value, RESPONSES[category])


def _failed(*, by_score: bool, category: ErrorKind | None, answers: Sequence[JudgeAnswer]) -> tuple[str, ...]:
    failed = ["confidence"] if by_score else []
    failed += [category.value] if category else []
    return (*failed, *(a.outcome.value for a in answers if a.outcome is not JudgeOutcome.SCORED))


def _reasons(rules: RuleScore) -> tuple[str, ...]:
    named = (
        ("words of doubt", rules.uncertainty),
        ("words of a partial answer", rules.partial),
        ("fewer than 50 characters", rules.length),
        ("words of an error", rules.errors),
    )
    return tuple(f"{name}: -{penalty:.2f}" for name, penalty in named if penalty)


def _signals(rules: RuleScore, judged: float | None) -> dict[str, float]:
    found = {
        "rule_score": rules.score,
        "uncertainty_penalty": rules.uncertainty,
        "partial_penalty": rules.partial,
        "length_penalty": rules.length,
        "error_penalty": rules.errors,
    }
    return found if judged is None else {**found, "judge_confidence": judged}


def _explanation(confidence: float | None, policy: FailsafePolicy, category: ErrorKind | None) -> str:
    """Why the failsafe triggered or not; a confidence of None is that of a non-answer."""
    outcome = f"the failsafe triggered ({category.value})" if category else "the reply passed"
    if confidence is None:
        return f"The draft says that it has no answer: {outcome}."
    return f"Confidence {confidence:.2f} against a threshold of {policy.confidence_threshold:.2f}: {outcome}."


def _record(
    case: DraftCase, policy: FailsafePolicy, confidence: float, category: ErrorKind | None
) -> dict[str, Json]:
    """FailsafeNode's metadata structure; ``with_timestamp`` adds the time."""
    if category is None:
        return {"confidence_score": confidence, "assessment": "PASSED"}
    return {
        "confidence_score": confidence,
        "error_category": category.value,
        "assessment": "FAILSAFE_TRIGGERED",
        "original_response_preview": draft_preview(case.draft, policy.preview_chars),
    }
