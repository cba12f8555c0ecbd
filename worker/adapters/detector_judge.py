"""A trained grounding detector behind the judge port: any function from texts to a number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from worker.assessment.judge import JudgeQuestion
from worker.errors import ModelUnavailable
from worker.model import AttemptOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorJudge:
    """A detector as a judge; it runs in a thread, since such models are synchronous and slow.

    Attributes:
        score: (query, context, claim) -> 0..1, probability that the claim is grounded. It may raise
            ``OSError`` or ``RuntimeError`` when the model cannot be used; anything else is a bug and rises.
    """

    score: Callable[[str, str, str], float]

    async def judge(self, question: JudgeQuestion) -> float:
        """The detector's number, unread.

        Raises:
            ModelUnavailable: the detector failed.
        """
        try:
            return await asyncio.to_thread(self.score, question.query, question.context, question.claim)
        except (OSError, RuntimeError) as error:
            raise ModelUnavailable(f"detector: {error}", kind=AttemptOutcome.DETECTOR) from error
