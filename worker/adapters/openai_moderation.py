"""``worker.ports.Moderator`` over an OpenAI-compatible moderation endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import structlog

from worker.adapters.api_errors import ApiError
from worker.adapters.call_guard import UNGUARDED, Guard
from worker.adapters.moderation_batches import MOST_TEXTS, BatchedChecks
from worker.adapters.moderation_results import in_order, scores_of_result, worst
from worker.adapters.moderation_texts import pieces
from worker.adapters.openai_client import Watch, answer
from worker.adapters.openai_http import ApiClient
from worker.adapters.vendor_failures import MALFORMED, call_failure, moderation_error, name_of
from worker.cancellation import all_of
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import AttemptOutcome, ModerationScores

ModerationPart: TypeAlias = "dict[str, Any]"
Asked: TypeAlias = "list[ModerationPart]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedImages:
    """The results of a message's images.

    Attributes:
        results: of the images that could be checked, and of the text if it was asked about with the first.
        unchecked: how many images have no result.
        without_text: whether the text has no result among these.
    """

    results: tuple[ModerationScores, ...]
    unchecked: int
    without_text: bool


async def checked_images(
    ask: Callable[[Asked], Awaitable[ModerationScores]], text: str, urls: Sequence[str]
) -> CheckedImages:
    """Check each image, the first together with the text.

    Raises:
        ModerationUnavailable: a limit leaves no room for the calls until now.
    """
    has_text = bool(text.strip())
    asked = [_input(text if has_text and number == 0 else None, url) for number, url in enumerate(urls)]
    found = await all_of(_checked(ask, each) for each in asked)
    results = tuple(each for each in found if each is not None)
    return CheckedImages(
        results=results, unchecked=len(found) - len(results), without_text=not has_text or found[0] is None
    )


async def _checked(
    ask: Callable[[Asked], Awaitable[ModerationScores]], asked: Asked
) -> ModerationScores | None:
    """The scores of one image; None for an image that cannot be checked."""
    try:
        return await ask(asked)
    except ModerationUnavailable as error:
        if error.kind == AttemptOutcome.LIMITED:
            raise
        return None
    except (ModerationRejected, EndpointMisconfigured):
        return None


def _input(text: str | None, url: str) -> Asked:
    image: ModerationPart = {"type": "image_url", "image_url": {"url": url}}
    return [{"type": "text", "text": text}, image] if text is not None else [image]


log = structlog.get_logger(__name__)


class OpenAIModerator:
    """Asks for scores; an incomplete result is an error, never a score.

    Args:
        client: from ``openai_client.client``.
        model: name of the moderation model.
        timeout_s: limit of one request.
        watch: records whether the endpoint is usable.
        most_texts: texts of a request.
        reuse_s: how long a result is reused for an equal text; 0 asks about every text.
        guard: stands before each request.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        model: str,
        timeout_s: float,
        watch: Watch | None = None,
        most_texts: int = MOST_TEXTS,
        reuse_s: float = 0.0,
        guard: Guard = UNGUARDED,
    ) -> None:
        self._client = client
        self._model = model
        self._timeout_s = timeout_s
        self._watch = watch or Watch("moderation")
        self._guard = guard
        self._answers = True
        self._checks = BatchedChecks(self._of_texts, most_texts=most_texts, reuse_s=reuse_s)

    async def moderate(self, text: str, image_urls: Sequence[str]) -> ModerationScores:
        """The highest score per category over text and images.

        A long text is checked in pieces, and each image in a call of its own, as the API requires. An image
        that cannot be checked costs neither the text nor the other images their check.
        """
        try:
            results, unchecked = await self._results(text, image_urls)
        except ModerationUnavailable as error:
            self._log_change(answers=False, kind=error.kind)
            raise
        return replace(worst(results), unchecked_images=unchecked)

    async def _results(self, text: str, image_urls: Sequence[str]) -> tuple[Sequence[ModerationScores], int]:
        """The results of the pieces of a text and of the images, and the number of images without one."""
        first, *others = pieces(text)
        results: list[ModerationScores] = []
        unchecked, alone = 0, [first, *others]
        if image_urls:
            checked = await checked_images(self._of_input, first, image_urls)
            results, unchecked = list(checked.results), checked.unchecked
            alone = [first] if checked.without_text and (first.strip() or not results) else []
            alone += others
            self._log_change(answers=True)
        return [*results, *await all_of(self._checks.scores(each) for each in alone)], unchecked

    async def _of_input(self, asked: list[ModerationPart]) -> ModerationScores:
        (result,) = await self._answered(asked, 1)
        if isinstance(result, ModerationUnavailable):
            raise result
        return result

    async def _of_texts(self, texts: Sequence[str]) -> Sequence[ModerationScores | ModerationUnavailable]:
        found = await self._answered(texts[0] if len(texts) == 1 else list(texts), len(texts))
        if any(isinstance(each, ModerationScores) for each in found):
            self._log_change(answers=True)  # here, as a result that is reused says nothing of the API
        return found

    async def _answered(
        self, asked: str | list[str] | list[ModerationPart], count: int
    ) -> Sequence[ModerationScores | ModerationUnavailable]:
        """One request; a result per input, in their order."""
        try:
            body = {"input": asked, "model": self._model}
            found = await answer(
                self._client, "/moderations", body, self._timeout_s, holding="results", guard=self._guard
            )
            results, model = found["results"], name_of(found.get("model") or self._model)
            if not isinstance(results, list) or len(results) != count:
                raise ValueError(f"expected {count} results")  # one translation for all
            read = [scores_of_result(each, model) for each in in_order(results)]
        except (ApiError, TimeoutError, *MALFORMED) as error:
            known = call_failure(error)
            self._watch.failed(known)
            raise moderation_error(known) from error
        self._watch.worked()
        return read

    def _log_change(self, *, answers: bool, kind: str = "") -> None:
        """Log once that the API stopped answering, and once that it answers again."""
        if answers and not self._answers:
            log.info("moderation_available")
        if not answers and self._answers:
            log.error("moderation_unavailable", kind=kind)
        self._answers = answers
