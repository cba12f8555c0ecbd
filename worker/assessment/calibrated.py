"""Policy ``calibrated`` (ours): cheap signals first, a judge for the undecided, vetoes for facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from worker.assessment.cheap_look import CheapLook, Veto, cheap_look, reasons_of
from worker.assessment.citations import without_citations
from worker.assessment.coefficients import Coefficients, Model, shipped_model
from worker.assessment.judge import Answer, Aspect, JudgeOutcome, Question
from worker.assessment.language import language_for, text_for
from worker.assessment.outcomes import check_policy, name_of, undecided_reasons
from worker.assessment.signals import Grounds, covers, has_bare_fact
from worker.assessment.values import Action, Case, Tier
from worker.assessment.words import normalised, sentences
from worker.model import Assessment

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
    """What is put to the judge at a time."""

    SENTENCE = "sentence"
    REPLY = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedPolicy:
    """Our policy as data.

    Attributes:
        gate: small talk, questions back and hand-offs pass without a fact check; "I don't know" ends with
            ``low_action``.
        require_evidence: whether a factual draft without any passage is stopped; an account without documents
            must set it to False.
        require_citations: whether a draft that cites no passage at all is undecided instead of sent.
        send_at: 0..1, replaces the model's certified threshold; None keeps it.
        reject_below: 0..1, replaces the model's; None keeps it.
        judge_unit: undecided drafts are judged sentence by sentence or whole.
        judge_sentences: at most this many sentences are judged, the least covered ones.
        judge_accepts: 0..1, an undecided draft is sent when the judge's lowest score reaches it.
        judge_weight: 0..1, share of the judge's lowest score in the confidence; the rest is the signals'.
        min_percentile: 0..1, before generation: the best passage must be nearer than this share of the
            embedder's background, where the retriever knows it.
        undecided_action: what becomes of an undecided draft no judge answered for.
        low_action: what becomes of a draft that cannot be trusted.
        fallbacks: language -> text for the action ``fallback``.
        model: coefficients, ours or the account's own.
    """

    version: int = 1
    enabled: bool = True
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
    model: Model = field(default_factory=shipped_model)

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


def first_look(case: Case, policy: CalibratedPolicy) -> Assessment | tuple[Question, ...]:
    """The assessment where the signals decide, or the questions for the judge where they do not."""
    look, grounds = cheap_look(case, policy.model, require_evidence=policy.require_evidence)
    if look.vetoes or _tier(look, policy) is not Tier.MEDIUM:
        return _assessment(case, policy, look, ())
    return _questions(case, policy, grounds)


def conclude(case: Case, policy: CalibratedPolicy, answers: Sequence[Answer]) -> Assessment:
    """The assessment of an undecided draft once the judge was asked."""
    look, _ = cheap_look(case, policy.model, require_evidence=policy.require_evidence)
    return _assessment(case, policy, look, answers)


def _thresholds(look: CheapLook, policy: CalibratedPolicy) -> tuple[float, float]:
    model: Coefficients = policy.model.kinds[look.kind]
    send_at = model.send_at if policy.send_at is None else policy.send_at
    reject_below = model.reject_below if policy.reject_below is None else policy.reject_below
    return send_at, reject_below


def _tier(look: CheapLook, policy: CalibratedPolicy) -> Tier:
    send_at, reject_below = _thresholds(look, policy)
    if look.confidence < reject_below:
        return Tier.LOW
    held = has_bare_fact(look.signals) or (policy.require_citations and not look.citations.cited)
    return Tier.HIGH if look.confidence >= send_at and not held else Tier.MEDIUM


def _questions(case: Case, policy: CalibratedPolicy, grounds: Grounds) -> tuple[Question, ...]:
    """The whole draft, or its least covered sentences in the order they stand."""
    claims = [case.draft]
    if policy.judge_unit is JudgeUnit.SENTENCE:
        claims = _least_covered(case, grounds, policy.judge_sentences) or claims
    aspect = Aspect.GROUNDING if policy.judge_unit is JudgeUnit.REPLY else Aspect.SENTENCE
    return tuple(
        Question(
            aspect=aspect,
            query=case.query,
            context=case.numbered_context,
            claim=claim,
            instruction=_INSTRUCTION,
        )
        for claim in claims
    )


def _least_covered(case: Case, grounds: Grounds, most: int) -> list[str]:
    parts = sentences(normalised(without_citations(case.draft)))
    novelty = {cover.text: cover.novelty for cover in covers(grounds, parts)}
    chosen = set(sorted(parts, key=lambda part: novelty.get(part, 0.0), reverse=True)[:most])
    return [part for part in parts if part in chosen]


def _assessment(
    case: Case, policy: CalibratedPolicy, look: CheapLook, answers: Sequence[Answer]
) -> Assessment:
    scores = [a.score for a in answers if a.score is not None]
    judged = min(scores) if scores and len(scores) == len(answers) else None
    confidence = look.confidence
    if judged is not None:
        confidence = policy.judge_weight * judged + (1.0 - policy.judge_weight) * look.confidence
    tier = _final_tier(look, policy, judged)
    action = _action(look, policy, tier, judged)
    send_at, reject_below = _thresholds(look, policy)
    return Assessment(
        policy=name_of("calibrated", policy.version),
        # a veto is a fact, not a degree: the confidence that the draft may go is nought
        confidence=0.0 if look.vetoes else confidence,
        tier=tier,
        action=action,
        category=_category(look, tier, answers),
        passed_checks=tuple(veto.value for veto in Veto if veto not in look.vetoes),
        failed_checks=(*look.vetoes, *_unusable_answers(answers)),
        reasons=(*reasons_of(case, look), *undecided_reasons(answers)),
        signals=look.signals if judged is None else {**look.signals, "judge_lowest": judged},
        explanation=_explanation(look, policy, action, judged),
        diagnostics={
            "evidence_kind": look.kind.value,
            "cheap_confidence": look.confidence,
            "model_version": policy.model.version,
            "questions_asked": len(answers),
            "send_at": send_at,
            "reject_below": reject_below,
            "judge_accepts": policy.judge_accepts,
        },
        fallback_text=text_for(policy.fallbacks, language_for(case)) if action is Action.FALLBACK else None,
    )


def _unusable_answers(answers: Sequence[Answer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(a.outcome.value for a in answers if a.outcome is not JudgeOutcome.SCORED))


def _final_tier(look: CheapLook, policy: CalibratedPolicy, judged: float | None) -> Tier:
    if look.vetoes:
        return Tier.LOW
    if judged is None:
        return _tier(look, policy)
    return Tier.HIGH if judged >= policy.judge_accepts else Tier.LOW


def _action(look: CheapLook, policy: CalibratedPolicy, tier: Tier, judged: float | None) -> Action:
    if tier is Tier.HIGH:
        return Action.SEND
    if tier is Tier.MEDIUM and judged is None and not look.vetoes:
        return policy.undecided_action
    return policy.low_action


def _category(look: CheapLook, tier: Tier, answers: Sequence[Answer]) -> str:
    if look.vetoes:
        return look.vetoes[0]
    if tier is Tier.MEDIUM:
        return "judge_unavailable" if answers else "undecided"
    return "ungrounded" if tier is Tier.LOW else ""


def _explanation(look: CheapLook, policy: CalibratedPolicy, action: Action, judged: float | None) -> str:
    send_at, reject_below = _thresholds(look, policy)
    judge = "" if judged is None else f" The judge's lowest score is {judged:.2f}."
    stop = f" Stopped by: {', '.join(look.vetoes)}." if look.vetoes else ""
    return (
        f"The signals give {look.confidence:.2f} (sent from {send_at:.2f}, refused below {reject_below:.2f})."
        f"{judge}{stop} Action: {action.value}."
    )


def refuse_early(case: Case, policy: CalibratedPolicy) -> Assessment | None:
    """A refusal before generation: no passage at all, or none nearer than the embedder's background."""
    percentiles = [p.percentile for p in case.evidence.passages if p.percentile is not None]
    far = bool(percentiles) and max(percentiles) < policy.min_percentile
    if not policy.require_evidence or (case.context.strip() and not far):
        return None
    reason = "every passage is as far off as any" if far else "no passage was found"
    text = text_for(policy.fallbacks, language_for(case)) if policy.low_action is Action.FALLBACK else None
    return Assessment(
        policy=name_of("calibrated", policy.version),
        confidence=0.0,
        tier=Tier.LOW,
        action=policy.low_action,
        category=Veto.NO_EVIDENCE,
        failed_checks=(Veto.NO_EVIDENCE,),
        reasons=(reason,),
        explanation=f"Nothing to answer from ({reason}), so no model was asked.",
        fallback_text=text,
    )
