"""The confidence in a draft and the action that follows: the flow of assessment on one screen.

::

    early_refusal(query, evidence, policy)               before generation: is there evidence?
    judged = await assess(query, evidence, draft, policy, judge)
        quoted = judge's answer on a promise in doubt        rarely
        result = assess_without_judge(query, evidence, draft, policy)     no model call
        if isinstance(result, NeedsJudge):                   only when the policy is undecided
            answers = ... one per result.questions ...       the judge port, all at the same time
            result = assessment_from_answers(result, answers)
    if judged.assessment.action == "recheck": search and generate again, then better_assessment(before, after)

All functions are pure except :func:`assess`, which calls the judge it is given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from worker.assessment.gate import (
    NEED_NO_CHECK,
    needs_no_answer,
    needs_no_evidence,
    reply_kind,
    unusable_reason,
)
from worker.assessment.judge import Aspect, Judge, JudgeAnswer, JudgeQuestion, read_answer, unavailable_answer
from worker.assessment.policies import (
    calibrated,
    calibrated_evidence,
    consensus,
    failsafe,
    guardrail,
    safety,
    validators,
)
from worker.assessment.policies.agreement import most_central
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.chain import chained_assessment, following_policy
from worker.assessment.policies.consensus import DEFAULT_MODEL, ConsensusPolicy
from worker.assessment.policies.delivery import Delivery, FallbackLevel, RetryWith
from worker.assessment.policies.designs import (
    Policy,
    default_policy,
    design_name,
    parse_delivery,
    parse_policy,
)
from worker.assessment.policies.failsafe_policy import FailsafePolicy
from worker.assessment.policies.guardrail import GuardrailPolicy, confidence_log_entry, with_recheck
from worker.assessment.policies.outcomes import (
    disabled_assessment,
    in_test_mode,
    promise_assessment,
    unchecked_assessment,
    unusable_assessment,
    with_suggestions,
    with_timestamp,
)
from worker.assessment.policies.partial import SupportedPart, supported_part
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.assessment.policies.searches import checks_labels, initial_search, recheck_search
from worker.assessment.policies.thresholds import thresholds_of, with_thresholds
from worker.assessment.policies.validators import ValidatorsPolicy
from worker.assessment.promises.quotations import is_quotation, quotation_question
from worker.assessment.promises.recogniser import PromiseFound, promise_of
from worker.assessment.text.citation_removal import cited_sources, delivered_text
from worker.assessment.text.language import query_language, text_in_language
from worker.assessment.text.once import texts_read_once
from worker.assessment.text.words import encodable_text
from worker.assessment.values import (
    DraftCase,
    Evidence,
    ReplyKind,
    RunFailure,
    SearchBounds,
    UnusableReason,
)
from worker.errors import ModelRejected, ModelUnavailable
from worker.model import Assessment, Completion, Tier

__all__ = [
    "DEFAULT_MODEL",
    "Assessment",
    "ConsensusPolicy",
    "Delivery",
    "DraftCase",
    "Evidence",
    "FallbackLevel",
    "Judge",
    "JudgeAnswer",
    "JudgeQuestion",
    "JudgedAssessment",
    "NeedsJudge",
    "Policy",
    "ReplyKind",
    "RetryWith",
    "RunFailure",
    "SearchBounds",
    "SupportedPart",
    "Tier",
    "UnusableReason",
    "assess",
    "assess_without_judge",
    "assessment_from_answers",
    "better_assessment",
    "chained_assessment",
    "checks_labels",
    "cited_sources",
    "confidence_log_entry",
    "default_policy",
    "delivered_text",
    "early_refusal",
    "following_policy",
    "in_test_mode",
    "initial_search",
    "most_central",
    "needs_no_answer",
    "parse_delivery",
    "parse_policy",
    "query_language",
    "read_answer",
    "recheck_search",
    "supported_part",
    "text_in_language",
    "texts_read_once",
    "thresholds_of",
    "unavailable_answer",
    "with_recheck",
    "with_suggestions",
    "with_thresholds",
    "with_timestamp",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsJudge:
    """A draft that its policy does not decide without a judge.

    Attributes:
        questions: asked at the same time; each gets one answer, in this order.
    """

    case: DraftCase
    policy: Policy
    questions: tuple[JudgeQuestion, ...]


def assess_without_judge(
    *, query: str, evidence: Evidence, draft: str, policy: Policy, quotation: JudgeAnswer | None = None
) -> Assessment | NeedsJudge:
    """The assessment of ``draft`` by its words, or the questions a judge must answer first.

    ``quotation`` is a judge's answer to :func:`quotation_question`, if it was asked.
    """
    case = DraftCase(query=encodable_text(query), evidence=evidence, draft=encodable_text(draft))
    return _without_judge(case, policy, promise_of(case) if policy.enabled else None, quotation)


def _without_judge(
    case: DraftCase, policy: Policy, promise: PromiseFound | None, quotation: JudgeAnswer | None
) -> Assessment | NeedsJudge:
    design, evidence = design_name(policy), case.evidence
    if not policy.enabled:
        return disabled_assessment(design, policy)
    if (reason := unusable_reason(case)) is not None:
        return unusable_assessment(design, policy, reason)
    if promise is not None and not is_quotation(promise, quotation):
        return promise_assessment(design, policy, promise.sentence)
    if policy.gate and not evidence.moderation_hit and (kind := reply_kind(case.draft)) in NEED_NO_CHECK:
        return unchecked_assessment(design, policy, kind)
    result = _policy_result(case, policy)
    return (
        result if isinstance(result, Assessment) else NeedsJudge(case=case, policy=policy, questions=result)
    )


def _policy_result(case: DraftCase, policy: Policy) -> Assessment | tuple[JudgeQuestion, ...]:
    match policy:
        case CalibratedPolicy():
            return calibrated.assessment_or_questions(case, policy)
        case FailsafePolicy():
            return failsafe.assessment_or_questions(case, policy)
        case GuardrailPolicy():
            return guardrail.assessment_or_questions(case, policy)
        case ValidatorsPolicy():
            return validators.assess_draft(case, policy)
        case SafetyPolicy():
            return safety.assess_draft(case, policy)
        case ConsensusPolicy():
            return consensus.assess_draft(case, policy)
    assert_never(policy)


def assessment_from_answers(needs: NeedsJudge, answers: Sequence[JudgeAnswer]) -> Assessment:
    """The assessment after the judge was asked; one answer per question, in the same order."""
    if len(answers) != len(needs.questions):
        raise ValueError(f"answers: expected {len(needs.questions)}, one per question, got {len(answers)}")
    match needs.policy:
        case CalibratedPolicy():
            return calibrated.assessment_from_answers(needs.case, needs.policy, answers)
        case FailsafePolicy():
            return failsafe.assessment_from_answers(needs.case, needs.policy, answers)
        case GuardrailPolicy():
            return guardrail.assessment_from_answers(needs.case, needs.policy, answers)
        case ValidatorsPolicy() | SafetyPolicy() | ConsensusPolicy():
            raise ValueError(f"policy: expected a design that asks a judge, got {design_name(needs.policy)}")
    assert_never(needs.policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAssessment:
    """An assessment and the judge's answers it is based on, in the order of the questions; often none.

    Attributes:
        sentence_scores: sentence of the draft -> score of the judge, for those that have one.
    """

    assessment: Assessment
    answers: tuple[JudgeAnswer, ...] = ()
    sentence_scores: Mapping[str, float] = field(default_factory=dict)


async def assess(
    *, query: str, evidence: Evidence, draft: str, policy: Policy, judge: Judge | None
) -> JudgedAssessment:
    """The assessment of ``draft``; asks ``judge`` all questions at once when the policy needs answers.

    A draft that passed a failsafe is assessed by the guardrail that follows it, if one does.
    """
    found = await _assess_by_one(query=query, evidence=evidence, draft=draft, policy=policy, judge=judge)
    following = following_policy(policy, found.assessment)
    if following is None:
        return found
    last = await _assess_by_one(query=query, evidence=evidence, draft=draft, policy=following, judge=judge)
    return JudgedAssessment(
        assessment=chained_assessment(found.assessment, last.assessment),
        answers=(*found.answers, *last.answers),
        sentence_scores={**found.sentence_scores, **last.sentence_scores},
    )


async def _assess_by_one(
    *, query: str, evidence: Evidence, draft: str, policy: Policy, judge: Judge | None
) -> JudgedAssessment:
    """By one policy; before, a judge is asked about a promise that may only quote a passage."""
    case = DraftCase(query=encodable_text(query), evidence=evidence, draft=encodable_text(draft))
    promise = promise_of(case) if policy.enabled else None
    doubt = quotation_question(case, promise) if judge else None
    first = () if doubt is None else (await _answer(judge, doubt),)
    result = _without_judge(case, policy, promise, first[0] if first else None)
    if isinstance(result, Assessment):
        return JudgedAssessment(assessment=result, answers=first)
    answers = await asyncio.gather(*(_answer(judge, question) for question in result.questions))
    found = assessment_from_answers(result, answers)
    scores = {
        question.claim: answer.score
        for question, answer in zip(result.questions, answers, strict=True)
        if question.aspect is Aspect.SENTENCE and answer.score is not None
    }
    return JudgedAssessment(assessment=found, answers=(*first, *answers), sentence_scores=scores)


async def _answer(judge: Judge | None, question: JudgeQuestion) -> JudgeAnswer:
    if judge is None:
        return unavailable_answer("no judge configured")
    try:
        raw = await judge.judge(question)
    except (ModelUnavailable, ModelRejected) as error:
        return unavailable_answer(str(error))
    return read_answer(raw.text if isinstance(raw, Completion) else raw)


def early_refusal(*, query: str, evidence: Evidence, policy: Policy) -> Assessment | None:
    """The refusal before generation when the evidence cannot answer; None when a draft should be generated.

    A greeting or thanks needs no evidence if the policy has a gate, because the reply will pass it. Without
    a gate the reply would be refused after its generation was paid for. ``failsafe``, ``guardrail`` and
    ``validators`` never refuse before generation, and no policy does in test mode.
    """
    case = DraftCase(query=encodable_text(query), evidence=evidence, draft="")
    if not policy.enabled or policy.test_mode:  # in test mode the draft is generated and assessed
        return None
    if policy.gate and needs_no_evidence(case.query):
        return None
    match policy:
        case CalibratedPolicy():
            return calibrated_evidence.early_refusal(case, policy)
        case SafetyPolicy():
            return safety.early_refusal(case, policy)
        case ConsensusPolicy():
            return consensus.early_refusal(case, policy)
        case FailsafePolicy() | GuardrailPolicy() | ValidatorsPolicy():
            return None
    assert_never(policy)


def better_assessment(before: Assessment, after: Assessment) -> Assessment:
    """The assessment that counts after a recheck: the new one if it is better (Guardrail, step 5).

    A second draft that a failsafe before the guardrail stopped is not better.
    """
    return after if after.policy == before.policy and after.confidence > before.confidence else before
