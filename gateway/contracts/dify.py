"""Dify's moderation by an API extension: the points ``ping``, ``app.moderation.input`` and ``.output``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from starlette.responses import Response

from gateway.check_intake import CheckIntake
from gateway.contracts.checking import ACCOUNT, account_of, check_id, contract_route, new_check, stopped
from review.api.body import json_answer, read_body
from review.http.page_routes import PageRoute
from review.http.parameters import Parameter
from review.http.visit import Visit
from review.typed.kinds import OneOf, Storable

PING: Final = "ping"
INPUT: Final = "app.moderation.input"
OUTPUT: Final = "app.moderation.output"
PRESET: Final = Parameter(
    name="preset_response", text="What Dify shows instead of a stopped text; empty unless given", default=""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifyParams:
    """The texts: ``query`` and ``inputs`` of a person, or ``text`` of a model."""

    app_id: Storable = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    query: Storable | None = None
    text: Storable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DifyRequest:
    """A request of Dify at an extension point."""

    point: Annotated[str, OneOf((PING, INPUT, OUTPUT))]
    params: DifyParams | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DifyAnswer:
    """``flagged`` with what to do: ``direct_output`` of the preset response, or ``overridden`` by ``text``.

    ``result`` is ``pong`` for the point ``ping``.
    """

    flagged: bool = False
    action: str = "direct_output"
    preset_response: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    text: str = ""
    result: str = ""


class DifyDoor:
    """Answers Dify."""

    def __init__(self, intake: CheckIntake) -> None:
        self._intake = intake

    def route(self) -> PageRoute:
        """The line of the route table."""
        return contract_route(
            "/dify/moderation",
            "dify",
            self.answer,
            summary="Dify's moderation by an API extension",
            query=(ACCOUNT, PRESET),
            response=DifyAnswer,
            body=DifyRequest,
        )

    async def answer(self, visit: Visit) -> Response:
        """Stop what has no verdict ``allow``; a shortened answer replaces the text of the model."""
        asked = await read_body(visit, DifyRequest)
        pinged = asked.point == PING
        return json_answer(DifyAnswer(result="pong") if pinged else await self._moderated(visit, asked))

    async def _moderated(self, visit: Visit, asked: DifyRequest) -> DifyAnswer:
        user_id, params = account_of(visit), asked.params or DifyParams()
        text = _input(params) if asked.point == INPUT else params.text or ""
        if not text:
            return DifyAnswer()
        kind = "message" if asked.point == INPUT else "draft"
        check = new_check(
            "params",
            id=check_id(visit, "dify", asked.point, text),
            user_id=user_id,
            metadata={"dify_app_id": params.app_id},
            **{kind: text},
        )
        (verdict,) = await self._intake.verdicts(visit, [check])
        if stopped([verdict]):
            return DifyAnswer(flagged=True, preset_response=visit.query["preset_response"])
        if verdict.text is None or verdict.text == text:
            return DifyAnswer()
        return DifyAnswer(flagged=True, action="overridden", text=verdict.text)


def _input(params: DifyParams) -> str:
    """What a person wrote: the variables and the message."""
    texts = [str(each) for each in params.inputs.values() if each not in (None, "")]
    return "\n".join(filter(None, [*texts, params.query]))
