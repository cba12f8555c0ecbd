"""LiteLLM's generic guardrail API, before and after a call of a model.

The facts are those of the class ``GenericGuardrailAPI`` of LiteLLM 1.110.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

import orjson
from pydantic import ConfigDict
from starlette.responses import Response

from db.people.api_tokens import TokenScope
from gateway.check_intake import BODY_BYTES, CheckIntake
from gateway.contracts.checking import (
    ACCOUNT,
    Said,
    account_of,
    check_id,
    code,
    conversation,
    new_check,
    refused,
    require_few,
    stopped,
)
from review.access import Right
from review.api.body import JSON, read_body
from review.http.page_routes import PageRoute
from review.http.visit import Visit
from review.typed.kinds import OneOf, Storable
from worker.model import CheckVerdict
from worker.payload.check_schema import CheckRequest

BEFORE: Final = "request"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailLine:
    """A message as the client of the proxy sent it; ``content`` is text, or a list of parts."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")

    role: Storable
    content: Storable | tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailRequest:
    """What LiteLLM asks: ``texts`` of a request to a model, or of its response.

    ``additional_provider_specific_params`` may have ``account``. Other fields are ignored.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")

    input_type: Annotated[str, OneOf((BEFORE, "response"))]
    texts: tuple[Storable, ...] | None = None
    structured_messages: tuple[GuardrailLine, ...] | None = None
    images: tuple[str, ...] | None = None
    litellm_call_id: Storable | None = None
    additional_provider_specific_params: Mapping[str, Any] | None = None


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
        return PageRoute(
            path="/beta/litellm_basic_guardrail_api",
            name="contract_litellm",
            handler=self.answer,
            right=Right.PUBLISH,
            methods=("POST",),
            api=True,
            summary="LiteLLM's generic guardrail API",
            query=(ACCOUNT,),
            response=GuardrailAnswer,
            body=GuardrailRequest,
            token_scope=TokenScope.CHECK,
            body_bytes=BODY_BYTES,
        )

    async def answer(self, visit: Visit) -> Response:
        """Block what has no verdict ``allow`` or ``rewrite``."""
        asked = await read_body(visit, GuardrailRequest)
        if asked.images:
            raise refused(422, "images", "no images: they are not checked", f"{len(asked.images)}")
        texts = asked.texts or ()
        checks = _checks(visit, asked)
        found = await self._intake.verdicts(visit, checks)
        verdicts = dict(zip((n for n, text in enumerate(texts) if text), found, strict=False))
        if (stop := stopped(found)) is not None:
            answer = GuardrailAnswer(action="BLOCKED", blocked_reason=code(stop))
        elif asked.input_type == BEFORE or all(_as_given(texts[n], each) for n, each in verdicts.items()):
            answer = GuardrailAnswer(action="NONE")
        else:
            rewritten = tuple((verdicts[n].text or "") if text else "" for n, text in enumerate(texts))
            answer = GuardrailAnswer(action="GUARDRAIL_INTERVENED", texts=rewritten)
        return Response(orjson.dumps(answer), media_type=JSON)


def _as_given(text: str, verdict: CheckVerdict) -> bool:
    return verdict.text in {None, text}


def _checks(visit: Visit, asked: GuardrailRequest) -> list[CheckRequest]:
    """One check of a request's conversation, or one of each text of a response."""
    texts, given = asked.texts or (), asked.additional_provider_specific_params or {}
    lines = [Said(role=each.role, text=_text(each)) for each in asked.structured_messages or ()]
    user_id = account_of(visit, given.get("account"))
    require_few("texts", len(texts))
    if asked.input_type == BEFORE:
        known = conversation(lines or [Said(role="", text=text) for text in texts])
        spoken = "\0".join((known["message"], *(line.text for line in lines)))
        named = check_id(visit, "litellm", BEFORE, spoken, call=asked.litellm_call_id)
        return [new_check("texts", id=named, user_id=user_id, **known)] if known["message"] else []
    return [
        new_check(
            f"texts.{number}",
            id=check_id(visit, "litellm", "response", str(number), text, call=asked.litellm_call_id),
            user_id=user_id,
            draft=text,
        )
        for number, text in enumerate(texts)
        if text
    ]


def _text(line: GuardrailLine) -> str:
    if line.content is None or isinstance(line.content, str):
        return line.content or ""
    parts = (part.get("text") for part in line.content)
    return "\n".join(part for part in parts if isinstance(part, str))
