"""The questions that the policy ``calibrated`` asks its judge."""

from __future__ import annotations

from worker.assessment.judge import Aspect, JudgeQuestion
from worker.assessment.policies.calibrated_policy import CalibratedPolicy, JudgeUnit
from worker.assessment.relevance.asked import asked_for, previous_question
from worker.assessment.signals.grounds import Grounds
from worker.assessment.signals.sentences import sentence_coverage
from worker.assessment.text.citations import without_citations
from worker.assessment.text.words import normalised_text, split_sentences
from worker.assessment.values import DraftCase

_SUPPORT = (
    "Is the statement fully supported by the context? Reply with the probability that every fact in it "
    "follows from the context: one number between 0.0 (not supported or contradicted) and 1.0 (fully "
    "supported), and nothing else."
)
_RELEVANCE = (
    "Does the reply answer the question? Its truth does not matter here. Reply with the probability that it "
    "gives what was asked for: one number between 0.0 (it answers something else or nothing) and 1.0 (it "
    "answers exactly this question), and nothing else."
)


def support_questions(
    case: DraftCase, policy: CalibratedPolicy, grounds: Grounds
) -> tuple[JudgeQuestion, ...]:
    """About the whole draft, or about its least covered sentences in their order."""
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
            instruction=_SUPPORT,
        )
        for claim in claims
    )


def relevance_question(case: DraftCase) -> JudgeQuestion:
    """Whether the whole draft answers the question; a follow-up is shown after the question before it."""
    history = case.evidence.history
    asked = asked_for(case.query, history)
    follow_up = asked is not None and asked.follow_up
    return JudgeQuestion(
        aspect=Aspect.RELEVANCE,
        query=f"{previous_question(history)} {case.query}" if follow_up else case.query,
        context=case.numbered_context,
        claim=case.draft,
        instruction=_RELEVANCE,
    )


def _least_covered(case: DraftCase, grounds: Grounds, most: int) -> list[str]:
    parts = split_sentences(normalised_text(without_citations(case.draft)))
    novelty = {cover.text: cover.novelty for cover in sentence_coverage(grounds, parts)}
    chosen = set(sorted(parts, key=lambda part: novelty.get(part, 0.0), reverse=True)[:most])
    return [part for part in parts if part in chosen]
