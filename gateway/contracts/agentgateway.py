"""agentgateway's guardrail webhook: ``/request`` before and ``/response`` after a call of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

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
    require_few,
    stopped,
)
from review.access import Right
from review.api.body import JSON, read_body
from review.http.page_routes import PageHandler, PageRoute
from review.http.visit import Visit
from review.typed.kinds import Storable
from worker.model import CheckVerdict

STOPPED: Final = 403
"""The status that agentgateway answers for a rejected request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLine:
    """One line: ``role`` in any case, and its text."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")

    role: Storable
    content: Storable


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPrompt:
    """The messages of a prompt."""

    messages: tuple[GatewayLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayChoice:
    """One answer of a model."""

    message: GatewayLine


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayChoices:
    """The answers of a model."""

    choices: tuple[GatewayChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest:
    """A prompt to check."""

    body: GatewayPrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicesRequest:
    """Answers to check."""

    body: GatewayChoices


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAction:
    """Go on."""

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskAction:
    """Go on with these answers."""

    body: GatewayChoices
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectAction:
    """Answer the client with this body and status."""

    body: str
    status_code: int = STOPPED
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAnswer:
    """What to do with a prompt."""

    action: RejectAction | PassAction


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicesAnswer:
    """What to do with the answers of a model."""

    action: MaskAction | RejectAction | PassAction


class AgentGatewayDoor:
    """Answers agentgateway."""

    def __init__(self, intake: CheckIntake) -> None:
        self._intake = intake

    def routes(self) -> tuple[PageRoute, ...]:
        """The lines of the route table; agentgateway fixes the paths."""
        return (
            _route("/request", "contract_prompt", self.check_prompt, PromptRequest, PromptAnswer),
            _route("/response", "contract_choices", self.check_choices, ChoicesRequest, ChoicesAnswer),
        )

    async def check_prompt(self, visit: Visit) -> Response:
        """Reject a prompt without the verdict ``allow``."""
        asked = await read_body(visit, PromptRequest)
        known = conversation(
            [Said(role=each.role.lower(), text=each.content) for each in asked.body.messages]
        )
        user_id = account_of(visit)
        named = check_id(visit, "agentgateway", "request", known["message"])
        checks = [new_check("body", id=named, user_id=user_id, **known)] if known["message"] else []
        stop = stopped(await self._intake.verdicts(visit, checks))
        return _answer(PromptAnswer(action=_rejected(stop) if stop else PassAction()))

    async def check_choices(self, visit: Visit) -> Response:
        """Reject answers of which one must not go out; replace shortened ones."""
        asked = await read_body(visit, ChoicesRequest)
        texts = [each.message.content for each in asked.body.choices]
        require_few("body.choices", len(texts))
        user_id = account_of(visit)
        checks = [
            new_check(
                f"body.choices.{number}.message.content",
                id=check_id(visit, "agentgateway", "response", str(number), text),
                user_id=user_id,
                draft=text,
            )
            for number, text in enumerate(texts)
            if text
        ]
        verdicts = await self._intake.verdicts(visit, checks)
        if stop := stopped(verdicts):
            return _answer(ChoicesAnswer(action=_rejected(stop)))
        masked = _masked(asked.body, verdicts)
        changed = masked != asked.body
        return _answer(ChoicesAnswer(action=MaskAction(body=masked) if changed else PassAction()))


def _masked(body: GatewayChoices, verdicts: Sequence[CheckVerdict]) -> GatewayChoices:
    """The answers with the texts that may go out."""
    remaining = iter(verdicts)
    return GatewayChoices(
        choices=tuple(
            GatewayChoice(
                message=GatewayLine(
                    role=each.message.role,
                    content=(next(remaining).text or each.message.content) if each.message.content else "",
                )
            )
            for each in body.choices
        )
    )


def _rejected(verdict: CheckVerdict) -> RejectAction:
    return RejectAction(body=code(verdict), reason=verdict.reason_code)


def _answer(found: PromptAnswer | ChoicesAnswer) -> Response:
    return Response(orjson.dumps(found), media_type=JSON)


def _route(path: str, name: str, handler: PageHandler, body: type, response: type) -> PageRoute:
    return PageRoute(
        path=path,
        name=name,
        handler=handler,
        right=Right.PUBLISH,
        methods=("POST",),
        api=True,
        summary=f"agentgateway's guardrail webhook {path}",
        query=(ACCOUNT,),
        response=response,
        body=body,
        token_scope=TokenScope.CHECK,
        body_bytes=BODY_BYTES,
    )
