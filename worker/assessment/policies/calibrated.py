"""Policy ``calibrated``, Hushgate's own: signals first, a judge for undecided drafts, vetoes for facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from worker.assessment.judge import Aspect, JudgeAnswer, JudgeOutcome, JudgeQuestion
from worker.assessment.non_answers.recogniser import is_non_answer
from worker.assessment.policies.outcomes import (
    check_policy,
    non_answer_assessment,
    policy_name,
    undecided_reasons,
)
from worker.assessment.signals.coefficients import Coefficients, CoefficientSet, shipped_model
from worker.assessment.signals.lexical import Grounds, has_bare_fact, sentence_coverage
from worker.assessment.signals.scoring import SignalScore, Veto, score_draft, score_reasons
from worker.assessment.text.citations import without_citations
from worker.assessment.text.language import author_language, text_in_language
from worker.assessment.text.words import normalised_text, split_sentences
from worker.assessment.values import DraftCase
from worker.model import Action, Assessment, Tier

FALLBACKS: Mapping[str, str] = MappingProxyType(
    {
        "en": "I could not find a reliable answer to that, so I would rather not guess.",
        "vi": "Tôi không tìm thấy câu trả lời đáng tin cậy nên không muốn đoán.",
        "zh": "我没有找到可靠的答案，不想随意猜测。",
    }
)
_INSTRUCTION = (
    "Is the statement fully supported by the context? Reply with the probability that every fact in it "
    "follows from the context: one number between 0.0 (not supported or contradicted) and 1.0 (fully "
    "supported), and nothing else."
)


class JudgeUnit(StrEnum):
    """What one question to the judge contains."""

    SENTENCE = "sentence"
    REPLY = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedPolicy:
    """The configuration of ``calibrated``.

    Attributes:
        gate: whether small talk, clarifying questions and hand-offs pass without a fact check.
        require_evidence: whether a factual draft without any passage is stopped; an account without documents
            must set it to False.
        require_citations: whether a draft without any citation is undecided instead of sent.
        send_at: 0..1, replaces the model's certified threshold; None keeps the model's.
        reject_below: 0..1, replaces the model's threshold; None keeps the model's.
        judge_unit: whether an undecided draft is judged by sentences or as a whole.
        judge_sentences: most sentences that are judged, the least covered ones.
        judge_accepts: 0..1, an undecided draft is sent when the judge's lowest score reaches it.
        judge_weight: 0..1, weight of the judge's lowest score in the confidence; the rest is the signals'.
        min_percentile: 0..1, before generation: the best passage must be nearer than this share of the
            embedder's background, if the retriever knows it.
        undecided_action: the action for an undecided draft without an answer of the judge.
        low_action: the action for a draft of low confidence.
        fallbacks: language -> text for the action ``fallback``.
        model: coefficients, the shipped ones or the account's own.
    """

    version: int = 1
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    require_evidence: bool = True
    require_citations: bool = False
    send_at: float | None = None
    reject_below: float | None = None
    judge_unit: JudgeUnit = JudgeUnit.SENTENCE
    judge_sentences: int = 8
    judge_accepts: float = 0.5
    judge_weight: float = 0.8
    min_percentile: float = 0.5
    undecided_action: Action = Action.ESCALATE
    low_action: Action = Action.ESCALATE
    fallbacks: Mapping[str, str] = field(default_factory=lambda: dict(FALLBACKS))
    model: CoefficientSet = field(default_factory=shipped_model)

    def __post_init__(self) -> None:
        check_policy(
            self,
            shares=("judge_accepts", "judge_weight", "min_percentile"),
            counts={"judge_sentences": (1, 100)},
        )
        for name in ("send_at", "reject_below"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise ValueError(f"{name}: expected a number from 0 to 1 or null, got {value}")
        if self.undecided_action is Action.RECHECK:
            raise ValueError("undecided_action: expected send, fallback, escalate or silence, got recheck")


def assessment_or_questions(
    case: DraftCase, policy: CalibratedPolicy
) -> Assessment | tuple[JudgeQuestion, ...]:
    """The assessment if the signals decide, else the questions for the judge."""
    if not case.evidence.moderation_hit and is_non_answer(case.draft):
        return non_answer_assessment(
            "calibrated", policy, text_in_language(policy.fallbacks, author_language(case))
        )
    score, grounds = score_draft(case, policy.model, require_evidence=policy.require_evidence)
    if score.vetoes or _tier(score, policy) is not Tier.MEDIUM:
        return _assessment(case, policy, score, ())
    return _questions(case, policy, grounds)


def assessment_from_answers(
    case: DraftCase, policy: CalibratedPolicy, answers: Sequence[JudgeAnswer]
) -> Assessment:
    """The assessment of an undecided draft after the judge was asked."""
    score, _ = score_draft(case, policy.model, require_evidence=policy.require_evidence)
    return _assessment(case, policy, score, answers)


def _thresholds(score: SignalScore, policy: CalibratedPolicy) -> tuple[float, float]:
    model: Coefficients = policy.model.kinds[score.kind]
    send_at = model.send_at if policy.send_at is None else policy.send_at
    reject_below = model.reject_below if policy.reject_below is None else policy.reject_below
    return send_at, reject_below


def _tier(score: SignalScore, policy: CalibratedPolicy) -> Tier:
    send_at, reject_below = _thresholds(score, policy)
    if score.confidence < reject_below:
        return Tier.LOW
    held = has_bare_fact(score.signals) or (policy.require_citations and not score.citations.cited)
    return Tier.HIGH if score.confidence >= send_at and not held else Tier.MEDIUM


def _questions(case: DraftCase, policy: CalibratedPolicy, grounds: Grounds) -> tuple[JudgeQuestion, ...]:
    """The whole draft, or its least covered sentences in their order."""
    claims = [case.draft]
    if policy.judge_unit is JudgeUnit.SENTENCE:
        claims = _least_covered(case, grounds, policy.judge_sentences) or claims
    aspect = Aspect.GROUNDING if policy.judge_unit is JudgeUnit.REPLY else Aspect.SENTENCE
    return tuple(
        JudgeQuestion(
            aspect=aspect,
            query=case.query,
            context=case.numbered_context,
            claim=claim,
            instruction=_INSTRUCTION,
        )
        for claim in claims
    )


def _least_covered(case: DraftCase, grounds: Grounds, most: int) -> list[str]:
    parts = split_sentences(normalised_text(without_citations(case.draft)))
    novelty = {cover.text: cover.novelty for cover in sentence_coverage(grounds, parts)}
    chosen = set(sorted(parts, key=lambda part: novelty.get(part, 0.0), reverse=True)[:most])
    return [part for part in parts if part in chosen]


def _assessment(
    case: DraftCase, policy: CalibratedPolicy, score: SignalScore, answers: Sequence[JudgeAnswer]
) -> Assessment:
    judge_score = _lowest_score(answers, policy.judge_accepts)
    confidence = score.confidence
    if judge_score is not None:
        confidence = policy.judge_weight * judge_score + (1.0 - policy.judge_weight) * score.confidence
    tier = _final_tier(score, policy, judge_score)
    action = _action(score, policy, tier, judge_score)
    send_at, reject_below = _thresholds(score, policy)
    return Assessment(
        policy=policy_name("calibrated", policy.version),
        # a veto is a fact, not a degree: the confidence is 0
        confidence=0.0 if score.vetoes else confidence,
        tier=tier,
        action=action,
        category=_category(score, tier, answers),
        passed_checks=tuple(veto.value for veto in Veto if veto not in score.vetoes),
        failed_checks=(*score.vetoes, *_unusable_answers(answers)),
        reasons=(*score_reasons(case, score), *undecided_reasons(answers)),
        signals=score.signals if judge_score is None else {**score.signals, "judge_lowest": judge_score},
        explanation=_explanation(score, policy, action, judge_score),
        diagnostics={
            "evidence_kind": score.kind.value,
            "cheap_confidence": score.confidence,
            "model_version": policy.model.version,
            "questions_asked": len(answers),
            "send_at": send_at,
            "reject_below": reject_below,
            "judge_accepts": policy.judge_accepts,
        },
        fallback_text=text_in_language(policy.fallbacks, author_language(case))
        if action is Action.FALLBACK
        else None,
    )


def _lowest_score(answers: Sequence[JudgeAnswer], accepts: float) -> float | None:
    """The judge's lowest score; None if a question without a score could still decide.

    One score below ``accepts`` refuses the draft, so the other answers do not matter.
    """
    lowest = min((a.score for a in answers if a.score is not None), default=None)
    if lowest is None or lowest < accepts:
        return lowest
    return lowest if all(a.score is not None for a in answers) else None


def _unusable_answers(answers: Sequence[JudgeAnswer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(a.outcome.value for a in answers if a.outcome is not JudgeOutcome.SCORED))


def _final_tier(score: SignalScore, policy: CalibratedPolicy, judge_score: float | None) -> Tier:
    if score.vetoes:
        return Tier.LOW
    if judge_score is None:
        return _tier(score, policy)
    return Tier.HIGH if judge_score >= policy.judge_accepts else Tier.LOW


def _action(score: SignalScore, policy: CalibratedPolicy, tier: Tier, judge_score: float | None) -> Action:
    if tier is Tier.HIGH:
        return Action.SEND
    if tier is Tier.MEDIUM and judge_score is None and not score.vetoes:
        return policy.undecided_action
    return policy.low_action


def _category(score: SignalScore, tier: Tier, answers: Sequence[JudgeAnswer]) -> str:
    if score.vetoes:
        return score.vetoes[0]
    if tier is Tier.MEDIUM:
        return "judge_unavailable" if answers else "undecided"
    return "ungrounded" if tier is Tier.LOW else ""


def _explanation(
    score: SignalScore, policy: CalibratedPolicy, action: Action, judge_score: float | None
) -> str:
    send_at, reject_below = _thresholds(score, policy)
    judge = "" if judge_score is None else f" The judge's lowest score is {judge_score:.2f}."
    stop = f" Stopped by: {', '.join(score.vetoes)}." if score.vetoes else ""
    return (
        f"The signals give {score.confidence:.2f}"
        f" (sent from {send_at:.2f}, refused below {reject_below:.2f})."
        f"{judge}{stop} Action: {action.value}."
    )


def early_refusal(case: DraftCase, policy: CalibratedPolicy) -> Assessment | None:
    """The refusal before generation: no passage, or none nearer than the embedder's background."""
    percentiles = [p.percentile for p in case.evidence.passages if p.percentile is not None]
    far = bool(percentiles) and max(percentiles) < policy.min_percentile
    if not policy.require_evidence or (case.context.strip() and not far):
        return None
    reason = "every passage is as far off as any" if far else "no passage was found"
    text = (
        text_in_language(policy.fallbacks, author_language(case))
        if policy.low_action is Action.FALLBACK
        else None
    )
    return Assessment(
        policy=policy_name("calibrated", policy.version),
        confidence=0.0,
        tier=Tier.LOW,
        action=policy.low_action,
        category=Veto.NO_EVIDENCE,
        failed_checks=(Veto.NO_EVIDENCE,),
        reasons=(reason,),
        explanation=f"Nothing to answer from ({reason}), so no model was asked.",
        fallback_text=text,
    )
