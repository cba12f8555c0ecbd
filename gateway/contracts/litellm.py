"""LiteLLM's generic guardrail API, before and after a call of a model.

The facts are those of the class ``GenericGuardrailAPI`` of LiteLLM 1.110.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from starlette.responses import Response

from gateway.check_intake import CheckIntake
from gateway.contracts.checking import (
    Said,
    account_of,
    checks_of_prompt,
    checks_of_texts,
    code,
    contract_route,
    refused,
    sendable,
    stopped,
)
from review.api.body import json_answer, read_body
from review.http.page_routes import PageRoute
from review.http.visit import Visit
from review.typed.kinds import OneOf, Storable
from worker.payload.check_schema import CheckRequest

CONTRACT: Final = "litellm"
BEFORE: Final = "request"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailLine:
    """A message as the client of the proxy sent it; ``content`` is text, or a list of parts."""

    role: Storable
    content: Storable | tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailParams:
    """What the proxy's configuration gives with each request."""

    account: Storable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailRequest:
    """What LiteLLM asks: ``texts`` of a request to a model, or of its response. Other fields are ignored."""

    input_type: Annotated[str, OneOf((BEFORE, "response"))]
    texts: tuple[Storable, ...] | None = None
    structured_messages: tuple[GuardrailLine, ...] | None = None
    images: tuple[str, ...] | None = None
    litellm_call_id: Storable | None = None
    additional_provider_specific_params: GuardrailParams | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailAnswer:
    """``NONE``, ``BLOCKED`` with its reason, or ``GUARDRAIL_INTERVENED`` with the texts that may go out."""

    action: str
    blocked_reason: str | None = None
    texts: tuple[str, ...] | None = None


class LiteLlmDoor:
    """Answers LiteLLM's guardrail."""

    def __init__(self, intake: CheckIntake) -> None:
        self._intake = intake

    def route(self) -> PageRoute:
        """The line of the route table."""
        return contract_route(
            "/beta/litellm_basic_guardrail_api",
            CONTRACT,
            self.answer,
            summary="LiteLLM's generic guardrail API",
            response=GuardrailAnswer,
            body=GuardrailRequest,
        )

    async def answer(self, visit: Visit) -> Response:
        """Block what has no verdict ``allow`` or ``rewrite``."""
        asked = await read_body(visit, GuardrailRequest)
        if asked.images:
            raise refused(422, "images", "no images: they are not checked", f"{len(asked.images)}")
        texts = asked.texts or ()
        verdicts = await self._intake.verdicts(visit, _checks(visit, asked))
        if (stop := stopped(verdicts)) is not None:
            return json_answer(GuardrailAnswer(action="BLOCKED", blocked_reason=code(stop)))
        if asked.input_type == BEFORE or (passed := sendable(texts, verdicts)) == texts:
            return json_answer(GuardrailAnswer(action="NONE"))
        return json_answer(GuardrailAnswer(action="GUARDRAIL_INTERVENED", texts=passed))


def _checks(visit: Visit, asked: GuardrailRequest) -> list[CheckRequest]:
    """One check of a request's conversation, or one of each text of a response."""
    params, call = asked.additional_provider_specific_params or GuardrailParams(), asked.litellm_call_id
    user_id, texts = account_of(visit, params.account), asked.texts or ()
    if asked.input_type != BEFORE:
        return checks_of_texts(visit, CONTRACT, texts, user_id=user_id, field="texts.{}", call=call)
    lines = [Said(role=each.role, text=_text(each)) for each in asked.structured_messages or ()]
    said = lines or [Said(role="", text=text) for text in texts]
    return checks_of_prompt(visit, CONTRACT, said, user_id=user_id, field="texts", call=call)


def _text(line: GuardrailLine) -> str:
    if line.content is None or isinstance(line.content, str):
        return line.content or ""
    parts = (part.get("text") for part in line.content)
    return "\n".join(part for part in parts if isinstance(part, str))
