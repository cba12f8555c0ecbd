"""Policy ``calibrated``, Hushgate's own: signals first, a judge for undecided drafts, vetoes for facts.

A draft is sent when it is supported by its passages *and* answers what was asked. Each of the two has its own
score, thresholds and question to the judge; the confidence is their product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.assessment.judge import JudgeAnswer, JudgeQuestion
from worker.assessment.non_answers.recogniser import is_non_answer
from worker.assessment.policies.calibrated_halves import JudgedDraft, judged_half
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.calibrated_questions import relevance_question, support_questions
from worker.assessment.policies.outcomes import non_answer_assessment, policy_name, undecided_reasons
from worker.assessment.relevance.scoring import relevance_reasons
from worker.assessment.signals.grounds import Grounds
from worker.assessment.signals.lexical import has_bare_fact
from worker.assessment.signals.scoring import SignalScore, score_draft, score_reasons
from worker.assessment.text.language import author_language, text_in_language
from worker.assessment.values import DraftCase
from worker.model import Action, Assessment, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The signals of a draft and the tier of each half.

    Attributes:
        relevance: HIGH where relevance cannot be measured or is not checked.
    """

    score: SignalScore
    support: Tier
    relevance: Tier

    @property
    def refused(self) -> bool:
        """Whether the signals refuse the draft, so that no judge is asked."""
        return bool(self.score.vetoes) or Tier.LOW in (self.support, self.relevance)


def assessment_or_questions(
    case: DraftCase, policy: CalibratedPolicy
) -> Assessment | tuple[JudgeQuestion, ...]:
    """The assessment if the signals decide, else the questions for the judge."""
    if not case.evidence.moderation_hit and is_non_answer(case.draft):
        return non_answer_assessment(
            "calibrated", policy, text_in_language(policy.fallbacks, author_language(case))
        )
    look, grounds = _look(case, policy)
    questions: tuple[JudgeQuestion, ...] = ()
    if not look.refused:
        if look.support is Tier.MEDIUM:
            questions += support_questions(case, policy, grounds)
        if look.relevance is Tier.MEDIUM:
            questions += (relevance_question(case),)
    return questions or _assessment(case, policy, look, ())


def assessment_from_answers(
    case: DraftCase, policy: CalibratedPolicy, answers: Sequence[JudgeAnswer]
) -> Assessment:
    """The assessment of an undecided draft after the judge was asked."""
    look, _ = _look(case, policy)
    return _assessment(case, policy, look, answers)


def _look(case: DraftCase, policy: CalibratedPolicy) -> tuple[_Look, Grounds]:
    score, grounds = score_draft(
        case,
        policy.model,
        require_evidence=policy.require_evidence,
        check_relevance=policy.check_relevance,
    )
    return _Look(
        score=score, support=_support_tier(score, policy), relevance=_relevance_tier(score, policy)
    ), grounds


def _support_tier(score: SignalScore, policy: CalibratedPolicy) -> Tier:
    send_at, reject_below = policy.support_bounds(score.kind)
    if score.support < reject_below:
        return Tier.LOW
    held = has_bare_fact(score.signals) or (policy.require_citations and not score.citations.cited)
    return Tier.HIGH if score.support >= send_at and not held else Tier.MEDIUM


def _relevance_tier(score: SignalScore, policy: CalibratedPolicy) -> Tier:
    """A short draft with the kind of answer expected is never refused by words that it need not repeat."""
    found = score.relevance
    if found is None:
        return Tier.HIGH
    relevant_from, irrelevant_below = policy.relevance_bounds()
    if found.score < irrelevant_below and not found.never_refuses:
        return Tier.LOW
    return Tier.HIGH if found.score >= relevant_from else Tier.MEDIUM


def _assessment(
    case: DraftCase, policy: CalibratedPolicy, look: _Look, answers: Sequence[JudgeAnswer]
) -> Assessment:
    score, asked = look.score, look.relevance is Tier.MEDIUM and bool(answers)
    of_support, of_relevance = (answers[:-1], answers[-1:]) if asked else (answers, ())
    relevance = 1.0 if score.relevance is None else score.relevance.score
    judged = JudgedDraft(
        score=score,
        support=judged_half(look.support, score.support, of_support, policy),
        relevance=judged_half(look.relevance, relevance, of_relevance, policy),
    )
    action = _action(judged, policy)
    return Assessment(
        policy=policy_name("calibrated", policy.version),
        confidence=judged.confidence,
        support=judged.support.value,
        relevance=None if score.relevance is None else judged.relevance.value,
        tier=judged.tier,
        action=action,
        category=judged.category(),
        passed_checks=judged.passed_checks(),
        failed_checks=judged.failed_checks(),
        reasons=(
            *score_reasons(case, score),
            *relevance_reasons(score.relevance),
            *undecided_reasons(answers),
        ),
        signals={**score.all_signals, **_judge_signals(judged)},
        explanation=_explanation(judged, policy, action),
        diagnostics=_diagnostics(judged, policy, len(answers)),
        fallback_text=text_in_language(policy.fallbacks, author_language(case))
        if action is Action.FALLBACK
        else None,
    )


def _judge_signals(judged: JudgedDraft) -> dict[str, float]:
    found = {"judge_lowest": judged.support.judged, "judge_relevance": judged.relevance.judged}
    return {name: value for name, value in found.items() if value is not None}


def _diagnostics(judged: JudgedDraft, policy: CalibratedPolicy, asked: int) -> dict[str, float | int | str]:
    score = judged.score
    send_at, reject_below = policy.support_bounds(score.kind)
    found: dict[str, float | int | str] = {
        "evidence_kind": score.kind.value,
        "cheap_confidence": score.support,
        "model_version": policy.model.version,
        "questions_asked": asked,
        "send_at": send_at,
        "reject_below": reject_below,
        "judge_accepts": policy.judge_accepts,
    }
    if score.relevance is not None:
        relevant_from, irrelevant_below = policy.relevance_bounds()
        found |= {
            "cheap_relevance": score.relevance.score,
            "relevant_from": relevant_from,
            "irrelevant_below": irrelevant_below,
        }
    return found


def _action(judged: JudgedDraft, policy: CalibratedPolicy) -> Action:
    match judged.tier:
        case Tier.HIGH:
            return Action.SEND
        case Tier.MEDIUM:
            return policy.undecided_action
        case Tier.LOW:
            return policy.low_action


def _explanation(judged: JudgedDraft, policy: CalibratedPolicy, action: Action) -> str:
    score = judged.score
    send_at, reject_below = policy.support_bounds(score.kind)
    parts = [
        f"The signals of support give {score.support:.2f}"
        f" (sent from {send_at:.2f}, refused below {reject_below:.2f})."
    ]
    if score.relevance is not None:
        relevant_from, irrelevant_below = policy.relevance_bounds()
        parts.append(
            f"Those of relevance give {score.relevance.score:.2f}"
            f" (sent from {relevant_from:.2f}, refused below {irrelevant_below:.2f})."
        )
    if judged.support.judged is not None:
        parts.append(f"The judge's lowest score is {judged.support.judged:.2f}.")
    if judged.relevance.judged is not None:
        parts.append(f"The judge scores relevance {judged.relevance.judged:.2f}.")
    if stopped := (*score.vetoes, *judged.shortfalls):
        parts.append(f"Stopped by: {', '.join(stopped)}.")
    return " ".join([*parts, f"Action: {action.value}."])
