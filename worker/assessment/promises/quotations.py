"""The judge's part: whether a promise in doubt only quotes what the passages tell everyone."""

from __future__ import annotations

from worker.assessment.judge import Aspect, JudgeAnswer, JudgeQuestion
from worker.assessment.promises.recogniser import PromiseFound, PromiseKind
from worker.assessment.values import DraftCase

_INSTRUCTION = (
    "Does the statement only repeat a rule that the context states for every customer? A promise to this "
    "author, or a claim that something was already done for this author, does not. Reply with the "
    "probability: one number between 0.0 (a promise of its own) and 1.0 (repeats the context), and nothing "
    "else."
)
_ACCEPTED = 0.5
"""Lowest score of a quotation."""


def quotation_question(case: DraftCase, promise: PromiseFound | None) -> JudgeQuestion | None:
    """The question about the promise of a draft; None when it has none, or no doubtful one."""
    if promise is None or promise.kind is not PromiseKind.IN_DOUBT:
        return None
    return JudgeQuestion(
        aspect=Aspect.QUOTATION,
        query=case.query,
        context=case.numbered_context,
        claim=promise.sentence,
        instruction=_INSTRUCTION,
    )


def is_quotation(promise: PromiseFound, answer: JudgeAnswer | None) -> bool:
    """Whether a judge says so; without a usable answer a promise in doubt counts as a promise."""
    if promise.kind is PromiseKind.CERTAIN or answer is None or answer.score is None:
        return False
    return answer.score >= _ACCEPTED
