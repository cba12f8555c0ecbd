"""How far a draft can be trusted, and what should become of it: the flow of assessment on one screen.

::

    refuse_early(query, evidence, policy)            before generation: nothing to answer from?
    look = assess_cheap(query, evidence, draft, policy)      no model call
    if isinstance(look, NeedsJudge):                 only when the policy says so
        answers = ... one per look.questions ...     the caller asks the judge port
        look = conclude(look, answers)
    if look.action == "recheck": search and generate again, then better_of(before, after)

Everything here is pure but :func:`assess`, which asks a judge that is handed to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from worker.assessment import calibrated, failsafe, guardrail, safety, validators
from worker.assessment.calibrated import CalibratedPolicy
from worker.assessment.failsafe import FailsafePolicy
from worker.assessment.gate import kind_of, unusable
from worker.assessment.guardrail import GuardrailPolicy, log_entry, with_recheck
from worker.assessment.judge import Answer, Judge, Question, read_answer, unavailable
from worker.assessment.language import language_for, query_language, text_for
from worker.assessment.outcomes import cannot_assess, disabled, does_not_know, needs_no_check, stamped
from worker.assessment.policies import Policy, default_policy, design_of, parse_policy
from worker.assessment.safety_checks import SafetyPolicy
from worker.assessment.validators import ValidatorsPolicy
from worker.assessment.values import Action, Case, Evidence, Failure, Recheck, ReplyKind, Tier
from worker.assessment.words import legible
from worker.errors import ModelRejected, ModelUnavailable
from worker.model import Assessment, Completion

__all__ = [
    "Action",
    "Answer",
    "Assessment",
    "Evidence",
    "Failure",
    "Judge",
    "NeedsJudge",
    "Policy",
    "Question",
    "Recheck",
    "ReplyKind",
    "Tier",
    "assess",
    "assess_cheap",
    "better_of",
    "conclude",
    "default_policy",
    "first_search_of",
    "judges_labels",
    "log_entry",
    "parse_policy",
    "query_language",
    "read_answer",
    "recheck_of",
    "refuse_early",
    "stamped",
    "text_for",
    "unavailable",
    "with_recheck",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsJudge:
    """A draft that its policy does not decide without a judge.

    Attributes:
        questions: to be asked at the same time; :func:`conclude` wants one answer for each, in this order.
    """

    case: Case
    policy: Policy
    questions: tuple[Question, ...]


def assess_cheap(*, query: str, evidence: Evidence, draft: str, policy: Policy) -> Assessment | NeedsJudge:
    """How far ``draft`` can be trusted as far as words can tell, or what a judge must be asked."""
    design = design_of(policy)
    case = Case(query=legible(query), evidence=evidence, draft=legible(draft))
    if not policy.enabled:
        return disabled(design, policy)
    if (why := unusable(case)) is not None:
        return cannot_assess(design, policy, why)
    if policy.gate and not evidence.moderation_hit and (kind := kind_of(case.draft)) is not ReplyKind.ANSWER:
        if kind is ReplyKind.REFUSAL and isinstance(policy, CalibratedPolicy):
            return does_not_know(design, policy, text_for(policy.fallbacks, language_for(case)))
        return needs_no_check(design, policy, kind)
    look = _first_look(case, policy)
    return look if isinstance(look, Assessment) else NeedsJudge(case=case, policy=policy, questions=look)


def _first_look(case: Case, policy: Policy) -> Assessment | tuple[Question, ...]:
    match policy:
        case CalibratedPolicy():
            return calibrated.first_look(case, policy)
        case FailsafePolicy():
            return failsafe.first_look(case, policy)
        case GuardrailPolicy():
            return guardrail.first_look(case, policy)
        case ValidatorsPolicy():
            return validators.conclude(case, policy)
        case SafetyPolicy():
            return safety.conclude(case, policy)
    assert_never(policy)


def conclude(needs: NeedsJudge, answers: Sequence[Answer]) -> Assessment:
    """The assessment once the judge was asked; one answer per question, in the same order."""
    if len(answers) != len(needs.questions):
        raise ValueError(f"answers: expected {len(needs.questions)}, one per question, got {len(answers)}")
    match needs.policy:
        case CalibratedPolicy():
            return calibrated.conclude(needs.case, needs.policy, answers)
        case FailsafePolicy():
            return failsafe.conclude(needs.case, needs.policy, answers)
        case GuardrailPolicy():
            return guardrail.conclude(needs.case, needs.policy, answers)
        case ValidatorsPolicy() | SafetyPolicy():
            raise ValueError(f"policy: expected a design that asks a judge, got {design_of(needs.policy)}")
    assert_never(needs.policy)


async def assess(
    *, query: str, evidence: Evidence, draft: str, policy: Policy, judge: Judge | None
) -> Assessment:
    """How far ``draft`` can be trusted; asks ``judge`` all questions at once when the policy needs one."""
    look = assess_cheap(query=query, evidence=evidence, draft=draft, policy=policy)
    if isinstance(look, Assessment):
        return look
    answers = await asyncio.gather(*(_answer(judge, question) for question in look.questions))
    return conclude(look, answers)


async def _answer(judge: Judge | None, question: Question) -> Answer:
    if judge is None:
        return unavailable("no judge configured")
    try:
        raw = await judge.judge(question)
    except (ModelUnavailable, ModelRejected) as error:
        return unavailable(str(error))
    return read_answer(raw.text if isinstance(raw, Completion) else raw)


def refuse_early(*, query: str, evidence: Evidence, policy: Policy) -> Assessment | None:
    """A refusal before any draft exists, when the evidence cannot answer; None when generation is worth it.

    A greeting or a word of thanks asks for no evidence. Only ``calibrated`` and ``safety`` refuse early.
    """
    case = Case(query=legible(query), evidence=evidence, draft="")
    if not policy.enabled or kind_of(case.query) in (ReplyKind.GREETING, ReplyKind.THANKS):
        return None
    match policy:
        case CalibratedPolicy():
            return calibrated.refuse_early(case, policy)
        case SafetyPolicy():
            return safety.refuse_early(case, policy)
        case FailsafePolicy() | GuardrailPolicy() | ValidatorsPolicy():
            return None
    assert_never(policy)


def first_search_of(policy: Policy) -> Recheck:
    """How to search before the first draft: seed 001's numbers for its design, else five, however near."""
    if isinstance(policy, GuardrailPolicy):
        return Recheck(documents=policy.initial_documents, min_similarity=policy.initial_similarity)
    return Recheck(documents=5, min_similarity=0.0)


def judges_labels(policy: Policy) -> bool:
    """True for a policy that must see passages with the wrong labels to reject them by name (seed 003)."""
    return isinstance(policy, SafetyPolicy)


def recheck_of(policy: Policy) -> Recheck | None:
    """How to search again when the action is ``recheck``, or None for a policy that never asks for it."""
    return policy.recheck if isinstance(policy, GuardrailPolicy) and policy.enable_recheck else None


def better_of(before: Assessment, after: Assessment) -> Assessment:
    """Which of two assessments stands after a recheck: the new one if it improved (seed 001, step 5)."""
    return after if after.confidence > before.confidence else before
