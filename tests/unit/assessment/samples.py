"""Values the assessment tests share: passages, assessed drafts, and a judge that answers from a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.assessment.judge import Aspect, JudgeQuestion

from worker.assessment import (
    Assessment,
    Evidence,
    Judge,
    JudgeAnswer,
    NeedsJudge,
    Policy,
    assess,
    assess_without_judge,
    assessment_from_answers,
    read_answer,
)
from worker.errors import ModelUnavailable
from worker.model import Passage

RETURNS = (
    "You can return any item within 30 days of delivery. Refunds take 5 working days to arrive on your card. "
    "Opened software cannot be returned."
)


def passage(text: str = RETURNS, *, similarity: float = 0.9, number: int = 0, **labels: str) -> Passage:
    """A passage with a text, a similarity and labels."""
    return Passage(
        passage_id=f"doc#{number}", title="Returns", text=text, similarity=similarity, metadata=labels
    )


def evidence(*similarities: float, text: str = RETURNS) -> Evidence:
    """Evidence with one passage per similarity."""
    return Evidence(passages=tuple(passage(text, similarity=s, number=n) for n, s in enumerate(similarities)))


def assessed(
    draft: str,
    policy: Policy,
    found: Evidence | None = None,
    *,
    query: str = "What is the return policy?",
    scores: Mapping[Aspect, str | float] | None = None,
) -> Assessment:
    """The assessment of a draft, with a judge that answers each aspect from ``scores``."""
    look = assess_without_judge(query=query, evidence=found or evidence(0.9), draft=draft, policy=policy)
    if isinstance(look, Assessment):
        return look
    return assessment_from_answers(
        look, [read_answer((scores or {})[question.aspect]) for question in look.questions]
    )


async def asked(
    *, query: str, evidence: Evidence, draft: str, policy: Policy, judge: Judge | None
) -> Assessment:
    """The assessment of a draft, with the judge asked as a worker asks it."""
    found = await assess(query=query, evidence=evidence, draft=draft, policy=policy, judge=judge)
    return found.assessment


def questions_of(draft: str, policy: Policy, found: Evidence | None = None) -> tuple[JudgeQuestion, ...]:
    """The questions of a policy to its judge about a draft; none when the policy decides without it."""
    look = assess_without_judge(
        query="What is the return policy?", evidence=found or evidence(0.9), draft=draft, policy=policy
    )
    return look.questions if isinstance(look, NeedsJudge) else ()


@dataclass(slots=True)
class ScriptedJudge:
    """A judge that gives the same answer to every question, or fails, and remembers what it was asked."""

    answer: str | float | None
    asked: list[JudgeQuestion] = field(default_factory=list)

    async def judge(self, question: JudgeQuestion) -> str | float:
        """The scripted answer; None means an unavailable model."""
        self.asked.append(question)
        if self.answer is None:
            raise ModelUnavailable("connection refused")
        return self.answer


def unscored(answer: JudgeAnswer) -> tuple[str, float | None]:
    """An answer's outcome and score, for tables."""
    return answer.outcome.value, answer.score
