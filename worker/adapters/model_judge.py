"""``worker.assessment.Judge`` over a language model."""

from __future__ import annotations

from collections.abc import Callable

from worker.assessment import ReadingRequest
from worker.assessment.reading.request import reading_prompt
from worker.model import Completion
from worker.ports import LanguageModel


class ModelJudge:
    """Asks a model for one reading.

    Args:
        model: whom to ask.
        timeout_s: limit of one reading.
    """

    def __init__(self, model: LanguageModel, *, timeout_s: float) -> None:
        self._model = model
        self._timeout_s = timeout_s

    def asking(self, wrapped: Callable[[LanguageModel], LanguageModel]) -> ModelJudge:
        """This judge with its model wrapped."""
        return ModelJudge(wrapped(self._model), timeout_s=self._timeout_s)

    async def read(self, request: ReadingRequest) -> Completion:
        """The model's answer, unread."""
        return await self._model.complete(reading_prompt(request), self._timeout_s)
