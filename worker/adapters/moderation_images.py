"""Moderation of images, each in a call of its own, so that a failed call affects one image only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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
