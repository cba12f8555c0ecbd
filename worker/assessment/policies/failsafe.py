"""Policy ``failsafe`` (FailsafeNode v1.0.0): words of doubt and error lower a score of 1.0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from worker.assessment.non_answers import is_non_answer, without_idioms
from worker.assessment.policies.design import Design, MeasuredLimit
from worker.assessment.policies.failsafe_policy import RESPONSES, ErrorKind, FailsafePolicy
from worker.assessment.policies.outcomes import draft_preview, policy_name
from worker.assessment.reading.asking import NOTHING, DraftReading, Wanted
from worker.assessment.text.wordlists import folded_text, phrase_pattern
from worker.assessment.values import DraftCase, ReplyKind, RunFailure
from worker.model import Action, Assessment, Json, Tier

CONFIDENCE = "confidence"
"""Name of the judge's score."""

_JUDGE_INSTRUCTION = (
    "Rate how far the answer can be trusted: the certainty of its statements, its completeness and whether "
    "its facts follow from the context."
)

SHORT_SENTENCE = 6
"""Words: a sentence of so few says little else ("The request timed out.")."""
_SENTENCE = re.compile(r"[^.!?;:\n]+")
_CONDITION = re.compile(
    r"(?<!\w)(?:if|when|whenever|unless|in case|once|until|whether|should|to avoid|without)(?!\w)"
)
"""Words before which nothing has failed: an instruction for a case."""
_WRITER = re.compile(r"(?<!\w)(?:i|i'm|i've|i'd|my)(?:\s+[\w']+){0,4}\s*$")
"""The writer, at most four words before the place."""
_ANSWERING = re.compile(
    r"(?<!\w)(?:this|your|the|that) (?:question|query|request)(?!\w)|(?<!\w)(?:to answer|an answer|the answer"
    r"|my answer|(?:the |a )?tool|(?:the |a )?search|requested operation)(?!\w)"
)
"""The question, the answer, and what makes one."""
_WHILE = re.compile(
    r"(?<!\w)while (?:i|we|processing|searching|looking|generating|answering|trying)(?!\w)"
    r"|(?<!\w)while .{1,80} (?:looked up|searched|processed|generated|retrieved|loaded|read)(?!\w)"
)
"""What the failsafe did."""
_DOUBTING = re.compile(r"(?<!\w)i (?:think|believe|guess|suppose)(?!\w)")


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


def rule_score(draft: str, policy: FailsafePolicy) -> RuleScore:
    """The penalties of a draft's words, by FailsafeNode.

    As published 0.1 per word of doubt up to 0.5, 0.1 per word of a partial answer up to 0.3, 0.2 under 50
    characters, 0.15 per error keyword up to 0.4. Each indicator counts once, as a whole word or phrase.
    """
    doubts, parts, errors = (
        _present(words, draft)
        for words in (policy.uncertainty_indicators, policy.partial_indicators, policy.error_keywords)
    )
    return RuleScore(
        uncertainty=min(policy.most_uncertainty_penalty, policy.uncertainty_penalty * doubts),
        partial=min(policy.most_partial_penalty, policy.partial_penalty * parts),
        length=policy.length_penalty if len(draft) < policy.short_chars else 0.0,
        errors=min(policy.most_error_penalty, policy.error_penalty * errors),
    )


def _present(phrases: Sequence[str], draft: str) -> int:
    text = _contracted(without_idioms(draft))
    return sum(_pattern((phrase,)).search(text) is not None for phrase in phrases)


@lru_cache(maxsize=4096)
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return phrase_pattern(tuple(_contracted(folded_text(phrase)) for phrase in phrases))


def _contracted(text: str) -> str:
    """Drafts and lists in one spelling: "don't" for "do not", "i'm" for "i am"."""
    return text.replace("do not", "don't").replace("i am ", "i'm ").replace("can not", "cannot")


def problem_category(case: DraftCase, policy: FailsafePolicy) -> ErrorKind | None:
    """The problem category: from typed errors first, then from the words of the draft.

    A non-answer in any language is ``UNCERTAINTY``, like the published keywords.
    """
    if RunFailure.TIMEOUT in case.evidence.failures:
        return ErrorKind.TIMEOUT
    if RunFailure.TOOL_FAILURE in case.evidence.failures:
        return ErrorKind.TOOL_FAILURE
    text = _contracted(without_idioms(case.draft))
    matched = (kind for kind in ErrorKind if _pattern(policy.keywords(kind)).search(text))
    return next(matched, ErrorKind.UNCERTAINTY if is_non_answer(case.draft) else None)


def admits_failure(case: DraftCase, policy: FailsafePolicy, kind: ErrorKind) -> bool:
    """Whether a draft says of itself what the category's words name, rather than of a product or a case.

    Typed errors and words of the account's own do.
    """
    if case.evidence.failures or kind.value in policy.category_keywords:
        return True
    keyword = _pattern(policy.keywords(kind))
    return any(
        _is_about_itself(sentence, found.start())
        or (kind is ErrorKind.UNCERTAINTY and _DOUBTING.search(sentence) is not None)
        for sentence in _SENTENCE.findall(_contracted(without_idioms(case.draft)))
        for found in keyword.finditer(sentence)
    )


def _is_about_itself(sentence: str, at: int) -> bool:
    """Whether the words at a place of a sentence speak of the writer, of the question or of the answer."""
    before = sentence[:at]
    if _CONDITION.search(before) is not None:
        return False
    if len(sentence.split()) <= SHORT_SENTENCE:
        return True
    if _WRITER.search(before) is not None or _ANSWERING.search(sentence) is not None:
        return True
    return _WHILE.search(sentence[at:]) is not None


def wanted(case: DraftCase, policy: FailsafePolicy) -> Wanted:
    """The judge's confidence when the score of the words is below ``judge_below``."""
    if rule_score(case.draft, policy).score < policy.judge_below and not is_non_answer(case.draft):
        return Wanted(aspects={CONFIDENCE: _JUDGE_INSTRUCTION})
    return NOTHING


def assessment(case: DraftCase, policy: FailsafePolicy, reading: DraftReading | None) -> Assessment:
    """The assessment; the judge's score weighs as much as the rules', a failed answer weighs nothing."""
    rules = rule_score(case.draft, policy)
    asked = reading if wanted(case, policy) else None
    judged = asked.scores.get(CONFIDENCE) if asked else None
    confidence = rules.score if judged is None else (rules.score + judged) / 2
    unread = (asked,) if asked and judged is None else ()
    found = problem_category(case, policy)
    # ten decimals: 1.0 - 0.1 - 0.2 is 0.7000000000000001 in floating point and 0.7 in the design
    confidence = round(confidence, 10)
    by_score = confidence < policy.confidence_threshold
    unanswered = is_non_answer(case.draft)
    admitted = found is not None and admits_failure(case, policy, found)
    triggered = by_score or unanswered or (policy.trigger_on_category and admitted)
    category = found if triggered or admitted else None
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
            *_failed(by_score=by_score, category=category, unread=unread),
            *((ReplyKind.REFUSAL,) if unanswered else ()),
        ),
        reasons=(*_reasons(rules, policy), *(each.reason for each in unread)),
        signals=_signals(rules, judged),
        explanation=_explanation(None if unanswered else confidence, policy, category if triggered else None),
        diagnostics=_record(case, policy, confidence, category if triggered else None),
        fallback_text=_response(case, policy, category) if triggered else None,
    )


def _response(case: DraftCase, policy: FailsafePolicy, category: ErrorKind | None) -> str | None:
    """The text for a category: of the author's profile, else the account's own, else the default."""
    if category is None or policy.low_action is not Action.FALLBACK:
        return None
    profile = case.evidence.event_metadata.get(policy.profile_key)
    chosen = policy.profile_responses.get(profile, {}) if isinstance(profile, str) else {}
    return chosen.get(category.value) or policy.responses.get(category.value) or RESPONSES[category]


def _failed(*, by_score: bool, category: ErrorKind | None, unread: Sequence[DraftReading]) -> tuple[str, ...]:
    failed = ["confidence"] if by_score else []
    failed += [category.value] if category else []
    return (*failed, *(each.outcome.value for each in unread))


def _reasons(rules: RuleScore, policy: FailsafePolicy) -> tuple[str, ...]:
    named = (
        ("words of doubt", rules.uncertainty),
        ("words of a partial answer", rules.partial),
        (f"fewer than {policy.short_chars} characters", rules.length),
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
    """Why the failsafe triggered or not; ``confidence`` is None for a non-answer."""
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


DESIGN: Final = Design(
    name="failsafe",
    summary="words of doubt and of errors lower a score; a judge model is asked when the score is low",
    settings=FailsafePolicy,
    assess=assessment,
    wanted=wanted,
    limits=(
        MeasuredLimit(
            measure="confidence", value="confidence", threshold="confidence_threshold", effect="sent"
        ),
        MeasuredLimit(
            measure="score of the word rules",
            value="rule_score",
            threshold="judge_below",
            effect="not read by the judge",
            sends=False,
        ),
    ),
    rejections=tuple(ErrorKind),
    problems={
        ErrorKind.TOOL_FAILURE: "a tool failed, or it says so (TOOL_FAILURE)",
        ErrorKind.TIMEOUT: "a time limit was reached, or it says so (TIMEOUT)",
        ErrorKind.TECHNICAL_LIMITATION: "it names a technical limitation (TECHNICAL_LIMITATION)",
        ErrorKind.INSUFFICIENT_INFO: "it says that information is missing (INSUFFICIENT_INFO)",
        ErrorKind.AMBIGUOUS_QUERY: "it calls the question ambiguous (AMBIGUOUS_QUERY)",
        ErrorKind.UNCERTAINTY: "it sounds uncertain (UNCERTAINTY)",
    },
    thresholds=("confidence_threshold", "judge_below"),
    main_threshold="confidence_threshold",
    published_names={"failsafe_enabled": "enabled"},
    nested={"guardrail": "guardrail"},
    following=lambda policy: policy.guardrail,
)
