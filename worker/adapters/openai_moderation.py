"""``worker.ports.Moderator`` over an OpenAI-compatible moderation endpoint."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from openai import AsyncOpenAI, OpenAIError
from openai.types import ModerationMultiModalInputParam

from worker.adapters.openai_client import answer, failure, storable
from worker.errors import ModerationRejected, ModerationUnavailable
from worker.model import ModerationScores

log = structlog.get_logger(__name__)


class OpenAIModerator:
    """Asks for scores; a verdict that is not whole is no verdict.

    Args:
        client: from ``openai_client.client``.
        model: name of the moderation model.
        timeout_s: limit of one call.
    """

    def __init__(self, client: AsyncOpenAI, *, model: str, timeout_s: float) -> None:
        self._client = client
        self._model = model
        self._timeout_s = timeout_s
        self._answers = True

    async def moderate(self, text: str, image_urls: Sequence[str]) -> ModerationScores:
        """The highest score per category over text and images; one call an image, as the API wants."""
        inputs: list[str | list[ModerationMultiModalInputParam]] = [text]
        if image_urls:
            inputs = [
                _with_image(text if number == 0 else None, url) for number, url in enumerate(image_urls)
            ]
        try:
            verdicts = await asyncio.gather(*(self._one(each) for each in inputs))
        except ModerationUnavailable as error:
            self._noticed(answers=False, kind=error.kind)
            raise
        self._noticed(answers=True)
        names = dict.fromkeys(name for verdict in verdicts for name in verdict.scores)
        return ModerationScores(
            scores={name: max(v.scores.get(name, 0.0) for v in verdicts) for name in names},
            flagged=frozenset().union(*(verdict.flagged for verdict in verdicts)),
            model=verdicts[0].model,
        )

    def _noticed(self, *, answers: bool, kind: str = "") -> None:
        """Say once that the API stopped answering, and once that it answers again."""
        if answers and not self._answers:
            log.info("moderation_available")
        if not answers and self._answers:
            log.error("moderation_unavailable", kind=kind)
        self._answers = answers

    async def _one(self, asked: str | list[ModerationMultiModalInputParam]) -> ModerationScores:
        try:
            body = {"input": asked, "model": self._model}
            verdict = await answer(self._client, "/moderations", body, self._timeout_s)
            result = verdict["results"][0]
            scores = {name: float(score) for name, score in _known(result["category_scores"]).items()}
            flagged = frozenset(name for name, flag in _known(result["categories"]).items() if flag)
            model = storable(str(verdict["model"]))
        except (OpenAIError, TimeoutError, ValueError, TypeError, AttributeError, LookupError) as error:
            raise _translated(error) from error
        if not scores or not all(math.isfinite(score) and 0 <= score <= 1 for score in scores.values()):
            raise ModerationUnavailable("the verdict has no usable scores", kind="malformed")
        if unscored := sorted(flagged - scores.keys()):
            raise ModerationUnavailable(f"flagged without a score: {unscored[:3]}"[:300], kind="malformed")
        return ModerationScores(scores=scores, flagged=flagged, model=model)


def _with_image(text: str | None, url: str) -> list[ModerationMultiModalInputParam]:
    image: ModerationMultiModalInputParam = {"type": "image_url", "image_url": {"url": url}}
    return [{"type": "text", "text": text}, image] if text is not None else [image]


def _known(block: Mapping[str, Any]) -> dict[str, Any]:
    """Category -> value, such as ``hate/threatening``; nulls left out."""
    return {storable(name): value for name, value in block.items() if value is not None}


def _translated(error: Exception) -> ModerationUnavailable | ModerationRejected:
    known = failure(error)
    if known is None:
        return ModerationUnavailable(storable(f"{type(error).__name__}: {error}"[:300]), kind="malformed")
    if known.status in (400, 413, 422):
        return ModerationRejected(known.message)
    return ModerationUnavailable(known.message, kind=known.kind, retry_after_s=known.retry_after_s)
