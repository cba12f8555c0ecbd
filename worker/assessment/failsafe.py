"""Policy ``failsafe`` (seed 000, FailsafeNode v1.0.0): words of doubt and error lower a score of 1.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from worker.assessment.judge import Answer, Aspect, JudgeOutcome, Question
from worker.assessment.outcomes import check_policy, name_of, preview, undecided_reasons
from worker.assessment.values import Action, Case, Failure, Tier
from worker.assessment.wordlists import folded, phrase_pattern
from worker.model import Assessment, Json

UNCERTAINTY_INDICATORS = (
    "i'm not sure", "i don't know", "uncertain", "maybe", "possibly", "i think", "i believe", "might be",
    "could be", "not certain", "unclear", "ambiguous", "difficult to determine", "hard to say", "i cannot",
    "i can't", "unable to", "insufficient information",
)  # fmt: skip
"""Seed 000, "Uncertainty Indicators"."""

PARTIAL_INDICATORS = (
    "partial", "incomplete", "some of", "part of", "limited", "only able to", "partially", "to some extent",
)  # fmt: skip
"""Seed 000, "Partial Response Indicators"."""

ERROR_KEYWORDS = ("error", "failed", "exception", "cannot", "unable")
"""Seed 000, "Error Keywords"."""


class Category(StrEnum):
    """The six classes of problem, in the order in which a reply is matched: the most specific first."""

    TOOL_FAILURE = "TOOL_FAILURE"
    TIMEOUT = "TIMEOUT"
    TECHNICAL_LIMITATION = "TECHNICAL_LIMITATION"
    INSUFFICIENT_INFO = "INSUFFICIENT_INFO"
    AMBIGUOUS_QUERY = "AMBIGUOUS_QUERY"
    UNCERTAINTY = "UNCERTAINTY"


CATEGORY_KEYWORDS: Mapping[Category, tuple[str, ...]] = MappingProxyType(
    {
        Category.TOOL_FAILURE: ("tool failed", "execution failed", "error occurred"),
        Category.TIMEOUT: ("timeout", "timed out", "request expired"),
        Category.TECHNICAL_LIMITATION: ("technical limitation", "cannot process", "not capable"),
        Category.INSUFFICIENT_INFO: ("not enough information", "need more details"),
        Category.AMBIGUOUS_QUERY: ("ambiguous", "unclear", "multiple interpretations"),
        Category.UNCERTAINTY: ("not sure", "don't know", "maybe", "possibly"),
    }
)
"""Seed 000, "Smart Error Categorization", example trigger keywords."""

RESPONSES: Mapping[str, str] = MappingProxyType(
    {
        # the first three are seed 000's templates, the others ours in their manner
        Category.UNCERTAINTY: "I understand there's uncertainty about this question. Let me honestly explain "
        "what I can be confident about and suggest specific ways you could get better help.",
        Category.INSUFFICIENT_INFO: "I need more information to provide a complete answer to your question. "
        "Could you please provide additional details about your specific requirements, context, or "
        "constraints?",
        Category.TECHNICAL_LIMITATION: "I encountered a technical limitation while processing your request. "
        "I can try to help in a different way if you'd like to rephrase your question or break it down into "
        "smaller parts.",
        Category.AMBIGUOUS_QUERY: "Your question can be read in more than one way. Could you tell me "
        "which of them you mean?",
        Category.TOOL_FAILURE: "Something I need in order to answer did not work. Please try again in a "
        "moment, or tell me what you need and I will try another way.",
        Category.TIMEOUT: "Finding the answer took too long. Please try again, or ask for one part of it "
        "at a time.",
    }
)

_JUDGE_INSTRUCTION = (
    "Rate how far the answer can be trusted: the certainty of its statements, its completeness and whether "
    "its facts follow from the context. Reply with one number between 0.0 and 1.0 and nothing else."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailsafePolicy:
    """Seed 000's configuration; ``enabled`` and ``confidence_threshold`` are its two options.

    Attributes:
        confidence_threshold: 0..1, below it the failsafe triggers (seed 000: 0.7).
        judge_below: 0..1, a rule score below it is put to the judge (seed 000: 0.8).
        trigger_on_category: whether a recognised category triggers above the threshold too, as seed 000's
            scenario 2 shows.
        preview_chars: how much of a refused reply its record keeps.
        responses: category -> text sent instead.
        low_action: what becomes of a refused reply.
    """

    version: int = 1
    enabled: bool = True
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
        if unknown := sorted(self.responses.keys() - set(Category)):
            raise ValueError(f"responses: expected categories of {', '.join(Category)}, got {unknown}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleScore:
    """Seed 000's rule-based score with the penalties it is made of."""

    uncertainty: float
    partial: float
    length: float
    errors: float

    @property
    def score(self) -> float:
        """0..1: 1.0 less every penalty."""
        return max(0.0, min(1.0, 1.0 - self.uncertainty - self.partial - self.length - self.errors))


def rule_score(draft: str) -> RuleScore:
    """What the words of a draft take from its score, after seed 000.

    0.1 per word of doubt up to 0.5, 0.1 per word of a partial answer up to 0.3, 0.2 under 50 characters, 0.15
    per word of an error up to 0.4. Each indicator counts once, as a whole word or phrase.
    """
    return RuleScore(
        uncertainty=min(0.5, 0.1 * _present(UNCERTAINTY_INDICATORS, draft)),
        partial=min(0.3, 0.1 * _present(PARTIAL_INDICATORS, draft)),
        length=0.2 if len(draft) < 50 else 0.0,
        errors=min(0.4, 0.15 * _present(ERROR_KEYWORDS, draft)),
    )


def _present(phrases: Sequence[str], draft: str) -> int:
    text = folded(draft)
    return sum(phrase_pattern((phrase,)).search(text) is not None for phrase in phrases)


def category_of(case: Case) -> Category | None:
    """The class of problem: from typed errors first, then from the words of the draft."""
    if Failure.TIMEOUT in case.evidence.failures:
        return Category.TIMEOUT
    if Failure.TOOL_FAILURE in case.evidence.failures:
        return Category.TOOL_FAILURE
    text = folded(case.draft)
    matched = (c for c, keywords in CATEGORY_KEYWORDS.items() if phrase_pattern(keywords).search(text))
    return next(matched, None)


def first_look(case: Case, policy: FailsafePolicy) -> Assessment | tuple[Question, ...]:
    """The assessment by words alone, or the judge's question when the score is below ``judge_below``."""
    if rule_score(case.draft).score < policy.judge_below:
        return (
            Question(
                aspect=Aspect.CONFIDENCE,
                query=case.query,
                context=case.numbered_context,
                claim=case.draft,
                instruction=_JUDGE_INSTRUCTION,
            ),
        )
    return conclude(case, policy, ())


def conclude(case: Case, policy: FailsafePolicy, answers: Sequence[Answer]) -> Assessment:
    """The assessment; a judge that answered weighs as much as the rules, one that failed weighs nothing."""
    rules = rule_score(case.draft)
    judged = next((a.score for a in answers if a.score is not None), None)
    confidence = rules.score if judged is None else (rules.score + judged) / 2
    category = category_of(case)
    # ten decimals: 1.0 - 0.1 - 0.2 is 0.7000000000000001 by machine and 0.7 by the document
    confidence = round(confidence, 10)
    by_score = confidence < policy.confidence_threshold
    triggered = by_score or (policy.trigger_on_category and category is not None)
    if triggered and category is None:
        category = Category.UNCERTAINTY
    return Assessment(
        policy=name_of("failsafe", policy.version),
        confidence=confidence,
        tier=Tier.LOW if triggered else Tier.HIGH,
        action=policy.low_action if triggered else Action.SEND,
        category=category.value if category else "",
        passed_checks=() if by_score else ("confidence",),
        failed_checks=_failed(by_score=by_score, category=category, answers=answers),
        reasons=(*_reasons(rules), *undecided_reasons(answers)),
        signals=_signals(rules, judged),
        explanation=_explanation(confidence, policy, category if triggered else None),
        diagnostics=_record(case, policy, confidence, category if triggered else None),
        fallback_text=_response(policy, category) if triggered else None,
    )


def _response(policy: FailsafePolicy, category: Category | None) -> str | None:
    """The text for a category, the account's own before ours, when the policy answers with one."""
    if category is None or policy.low_action is not Action.FALLBACK:
        return None
    return policy.responses.get(category.value, RESPONSES[category])


def _failed(*, by_score: bool, category: Category | None, answers: Sequence[Answer]) -> tuple[str, ...]:
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


def _explanation(confidence: float, policy: FailsafePolicy, category: Category | None) -> str:
    verdict = f"the failsafe triggered ({category.value})" if category else "the reply passed"
    return f"Confidence {confidence:.2f} against a threshold of {policy.confidence_threshold:.2f}: {verdict}."


def _record(
    case: Case, policy: FailsafePolicy, confidence: float, category: Category | None
) -> dict[str, Json]:
    """Seed 000's metadata structure; :func:`worker.assessment.outcomes.stamped` adds its timestamp."""
    if category is None:
        return {"confidence_score": confidence, "assessment": "PASSED"}
    return {
        "confidence_score": confidence,
        "error_category": category.value,
        "assessment": "FAILSAFE_TRIGGERED",
        "original_response_preview": preview(case.draft, policy.preview_chars),
    }
