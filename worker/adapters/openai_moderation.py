"""``worker.ports.Moderator`` over an OpenAI-compatible moderation endpoint."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from openai import AsyncOpenAI, OpenAIError
from openai.types import ModerationMultiModalInputParam

from worker.adapters.openai_client import Watch, answer, failure, misconfigured, storable
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import AttemptOutcome, ModerationScores

log = structlog.get_logger(__name__)


class OpenAIModerator:
    """Asks for scores; an incomplete result is an error, never a score.

    Args:
        client: from ``openai_client.client``.
        model: name of the moderation model.
        timeout_s: limit of one call.
        watch: records whether the endpoint is usable.
    """

    def __init__(
        self, client: AsyncOpenAI, *, model: str, timeout_s: float, watch: Watch | None = None
    ) -> None:
        self._client = client
        self._model = model
        self._timeout_s = timeout_s
        self._watch = watch or Watch("moderation")
        self._answers = True

    async def moderate(self, text: str, image_urls: Sequence[str]) -> ModerationScores:
        """The highest score per category over text and images; one call an image, as the API requires."""
        inputs: list[str | list[ModerationMultiModalInputParam]] = [text]
        if image_urls:
            inputs = [
                _with_image(text if number == 0 else None, url) for number, url in enumerate(image_urls)
            ]
        try:
            results = await asyncio.gather(*(self._result(each) for each in inputs))
        except ModerationUnavailable as error:
            self._log_change(answers=False, kind=error.kind)
            raise
        self._log_change(answers=True)
        names = dict.fromkeys(name for result in results for name in result.scores)
        return ModerationScores(
            scores={name: max(result.scores.get(name, 0.0) for result in results) for name in names},
            flagged=frozenset().union(*(result.flagged for result in results)),
            model=results[0].model,
        )

    def _log_change(self, *, answers: bool, kind: str = "") -> None:
        """Log once that the API stopped answering, and once that it answers again."""
        if answers and not self._answers:
            log.info("moderation_available")
        if not answers and self._answers:
            log.error("moderation_unavailable", kind=kind)
        self._answers = answers

    async def _result(self, asked: str | list[ModerationMultiModalInputParam]) -> ModerationScores:
        try:
            body = {"input": asked, "model": self._model}
            found = await answer(self._client, "/moderations", body, self._timeout_s, holding="results")
            result = found["results"][0]
            scores = {name: float(score) for name, score in _known(result["category_scores"]).items()}
            flagged = frozenset(name for name, flag in _known(result["categories"]).items() if flag)
            model = storable(str(found["model"]))
        except (OpenAIError, TimeoutError, ValueError, TypeError, AttributeError, LookupError) as error:
            raise self._translated(error) from error
        self._watch.worked()
        if not scores or not all(math.isfinite(score) and 0 <= score <= 1 for score in scores.values()):
            raise ModerationUnavailable("the result has no usable scores", kind=AttemptOutcome.MALFORMED)
        if unscored := sorted(flagged - scores.keys()):
            raise ModerationUnavailable(
                f"flagged without a score: {unscored[:3]}"[:300], kind=AttemptOutcome.MALFORMED
            )
        return ModerationScores(scores=scores, flagged=flagged, model=model)

    def _translated(
        self, error: Exception
    ) -> ModerationUnavailable | ModerationRejected | EndpointMisconfigured:
        known = failure(error)
        if known is None:
            return ModerationUnavailable(
                storable(f"{type(error).__name__}: {error}"[:300]), kind=AttemptOutcome.MALFORMED
            )
        self._watch.failed(known)
        if known.kind is AttemptOutcome.MISCONFIGURED:
            return misconfigured(known)
        if known.kind is AttemptOutcome.REJECTED:
            return ModerationRejected(known.message)
        return ModerationUnavailable(known.message, kind=known.kind, retry_after_s=known.retry_after_s)


def _with_image(text: str | None, url: str) -> list[ModerationMultiModalInputParam]:
    image: ModerationMultiModalInputParam = {"type": "image_url", "image_url": {"url": url}}
    return [{"type": "text", "text": text}, image] if text is not None else [image]


def _known(block: Mapping[str, Any]) -> dict[str, Any]:
    """Category -> value, such as ``hate/threatening``; nulls left out."""
    return {storable(name): value for name, value in block.items() if value is not None}
