"""``POST /v1/moderations`` as of OpenAI: any client moderates by the rules and moderators of an account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from starlette.responses import Response

from gateway.check_intake import CheckIntake
from gateway.checks import RETRY_S
from gateway.contracts.checking import account_of, checks_of_texts, contract_route, refused
from review.api.body import json_answer, read_body
from review.http.page_routes import PageRoute
from review.http.visit import Refused, Visit
from review.typed.kinds import OneOf, Storable
from worker.model import CheckOutcome, CheckVerdict
from worker.reasons import Reason

CATEGORIES: Final = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent",
    "self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence",
    "violence/graphic",
)  # fmt: skip
"""The categories that clients of OpenAI expect in every result."""
TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPart:
    """A part of one input: ``text``, or an image, which is refused."""

    type: Annotated[str, OneOf(("text", "image_url"))]
    text: Storable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationRequest:
    """Texts to moderate: a text, an array of texts, or the parts of one text. ``model`` is repeated."""

    input: Storable | tuple[Storable, ...] | tuple[InputPart, ...]
    model: Storable = "hushgate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationResult:
    """The result of one text: OpenAI's categories, those of the account's moderators, and the reason code."""

    flagged: bool
    categories: Mapping[str, bool]
    category_scores: Mapping[str, float]
    category_applied_input_types: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moderations:
    """The results in the order of the texts; ``id`` is the decision of the first."""

    id: str
    model: str
    results: tuple[ModerationResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiErrorDetail:
    """What is wrong; ``param`` is the field."""

    message: str
    type: str
    param: str | None
    code: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiError:
    """A refusal as clients of OpenAI read it."""

    error: OpenAiErrorDetail


class ModerationsDoor:
    """Answers clients of OpenAI."""

    def __init__(self, intake: CheckIntake) -> None:
        self._intake = intake

    def route(self) -> PageRoute:
        """The line of the route table."""
        return contract_route(
            "/v1/moderations",
            "moderations",
            self.answer,
            summary="Moderate texts, as by OpenAI",
            response=Moderations,
            body=ModerationRequest,
            refuse=openai_error,
            refusal=OpenAiError,
        )

    async def answer(self, visit: Visit) -> Response:
        """A result for each text; 503 when one could not be moderated."""
        asked = await read_body(visit, ModerationRequest)
        checks = checks_of_texts(
            visit,
            "moderations",
            _texts(asked),
            user_id=account_of(visit),
            field="input.{}",
            kind="message",
        )
        verdicts = await self._intake.verdicts(visit, checks)
        held = (each for each in verdicts if each.verdict is CheckOutcome.HOLD)
        if unmade := next((each for each in held if each.degraded), None):
            text = f"A text could not be moderated: {unmade.reason_code}. Send the request again."
            raise Refused(503, "Not moderated", text, retry_after_s=RETRY_S)
        found = Moderations(
            id=f"modr-{verdicts[0].decision_id}",
            model=asked.model,
            results=tuple(map(result_of, verdicts)),
        )
        return json_answer(found)


def result_of(verdict: CheckVerdict) -> ModerationResult:
    """The result of a verdict; what matched is a true category, with the reason code as a further one."""
    flagged = verdict.verdict is not CheckOutcome.ALLOW
    by_moderator = verdict.reason_code == Reason.MODERATION_FLAGGED
    matched = (verdict.matched_rule or "").partition(":")[2] if by_moderator else ""
    scores = dict.fromkeys(CATEGORIES, 0.0) | dict(verdict.categories)
    if flagged:
        scores[f"hushgate/{verdict.reason_code}"] = 1.0
    return ModerationResult(
        flagged=flagged,
        categories={name: flagged and (name == matched or name.startswith("hushgate/")) for name in scores},
        category_scores=scores,
        category_applied_input_types=dict.fromkeys(scores, ("text",)),
    )


def openai_error(refusal: Refused) -> Response:
    """A refusal in OpenAI's form."""
    kind = "server_error" if refusal.status >= 500 else TYPES.get(refusal.status, "invalid_request_error")
    named = refusal.problems[0].field if refusal.problems else None
    detail = OpenAiErrorDetail(message=refusal.text, type=kind, param=named, code=None)
    response = json_answer(OpenAiError(error=detail), refusal.status)
    if refusal.retry_after_s:
        response.headers["Retry-After"] = str(refusal.retry_after_s)
    return response


def _texts(asked: ModerationRequest) -> list[str]:
    """The texts; the parts of a single input are one text.

    Raises:
        Refused: 422, there are none, one is empty, or a part is an image.
    """
    if isinstance(asked.input, str):
        texts = [asked.input]
    else:
        texts = [each for each in asked.input if isinstance(each, str)]
        parts = [each for each in asked.input if not isinstance(each, str)]
        for number, part in enumerate(parts):
            if part.type != "text":
                raise refused(422, f"input.{number}.type", "text: images are not moderated here", part.type)
        if parts:
            texts = ["\n".join(part.text for part in parts if part.text)]
    for number, text in enumerate(texts):
        if not text:
            raise refused(422, f"input.{number}", "a text", "an empty one")
    if not texts:
        raise refused(422, "input", "at least one text", "none")
    return texts
