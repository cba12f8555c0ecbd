"""agentgateway's guardrail webhook: ``/request`` before and ``/response`` after a call of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from gateway.check_intake import CheckIntake
from gateway.contracts.checking import (
    Said,
    account_of,
    checks_of_prompt,
    checks_of_texts,
    code,
    contract_route,
    sendable,
    stopped,
)
from review.api.body import json_answer, read_body
from review.http.page_routes import PageHandler, PageRoute
from review.http.visit import Visit
from review.typed.kinds import Storable
from worker.model import CheckVerdict

CONTRACT: Final = "agentgateway"
STOPPED: Final = 403
"""The status that agentgateway answers for a rejected request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLine:
    """One line: ``role`` in any case, and its text."""

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
            _route("/request", "prompt", self.check_prompt, PromptRequest, PromptAnswer),
            _route("/response", "choices", self.check_choices, ChoicesRequest, ChoicesAnswer),
        )

    async def check_prompt(self, visit: Visit) -> Response:
        """Reject a prompt without the verdict ``allow``."""
        asked = await read_body(visit, PromptRequest)
        lines = [Said(role=each.role.lower(), text=each.content) for each in asked.body.messages]
        checks = checks_of_prompt(visit, CONTRACT, lines, user_id=account_of(visit), field="body.messages")
        stop = stopped(await self._intake.verdicts(visit, checks))
        return json_answer(PromptAnswer(action=_rejected(stop) if stop else PassAction()))

    async def check_choices(self, visit: Visit) -> Response:
        """Reject answers of which one must not go out; replace shortened ones."""
        asked = await read_body(visit, ChoicesRequest)
        lines = [each.message for each in asked.body.choices]
        texts, field = tuple(each.content for each in lines), "body.choices.{}.message.content"
        checks = checks_of_texts(visit, CONTRACT, texts, user_id=account_of(visit), field=field)
        verdicts = await self._intake.verdicts(visit, checks)
        if stop := stopped(verdicts):
            return json_answer(ChoicesAnswer(action=_rejected(stop)))
        if (passed := sendable(texts, verdicts)) == texts:
            return json_answer(ChoicesAnswer(action=PassAction()))
        masked = (
            GatewayChoice(message=GatewayLine(role=line.role, content=text))
            for line, text in zip(lines, passed, strict=True)
        )
        return json_answer(ChoicesAnswer(action=MaskAction(body=GatewayChoices(choices=tuple(masked)))))


def _rejected(verdict: CheckVerdict) -> RejectAction:
    return RejectAction(body=code(verdict), reason=verdict.reason_code)


def _route(path: str, name: str, handler: PageHandler, body: type, response: type) -> PageRoute:
    summary = f"agentgateway's guardrail webhook {path}"
    return contract_route(path, name, handler, summary=summary, body=body, response=response)
