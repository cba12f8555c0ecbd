"""The calls that a worker makes of its models, made once: passages, history, a round of tools, a reading.

What a server does not take of them is named: the worker leaves it out, and an answer may be the worse for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.doctor.endpoints import Endpoint, judge_endpoint, model_endpoint
from worker.adapters import openai_client
from worker.adapters.openai_chat import OpenAIChat
from worker.adapters.server_dialect import Lack
from worker.adapters.vendor_failures import failure
from worker.assessment.reading.answer import read_answer
from worker.assessment.reading.model import ReadingRequest
from worker.assessment.reading.request import reading_prompt
from worker.errors import ModelRejected, ModelUnavailable
from worker.generation import SEARCH_TOOL, TOOLS
from worker.model import Completion, Message, MessageRole, Prompt, Tokens, ToolCall, ToolResult, ToolRound
from worker.settings import ModelRole, Settings

LiveFix = Callable[[Endpoint, str, int | None, str], str]
"""What to correct, from the endpoint, the model's variable, the status and the kind of failure."""
LiveCheck = Callable[[], Coroutine[Any, Any, DoctorCheck]]
"""Makes the calls of one line."""

SHOWN_CHARS: Final = 160
SLOW_S: Final = 10.0
SLOW: Final = "set {} to a faster model: a customer waits for the draft's call, then for the judge's"
PASSAGES: Final = "<passages check>\n[1] Hours: We are open from nine to six.\n</passages check>"
QUESTION: Final = Prompt(
    system="Answer in one short sentence, only with what the passages say.",
    history=(
        Message(role=MessageRole.USER, text="Hello"),
        Message(role=MessageRole.ASSISTANT, text="Hello! How can I help you?"),
    ),
    question="When are you open?",
    passages=PASSAGES,
    fence="check",
    tools=TOOLS,
)
CALL: Final = ToolCall(call_id="call00001", name=SEARCH_TOOL, arguments={"query": "opening hours"})
ROUND: Final = ToolRound(calls=(CALL,), results=(ToolResult(call_id=CALL.call_id, content=PASSAGES),))
AFTER_TOOLS: Final = Prompt(
    system=QUESTION.system,
    history=(),
    question=QUESTION.question,
    passages=PASSAGES,
    fence="check",
    tools=TOOLS,
    tool_rounds=(ROUND,),
    must_answer=True,
)
SENTENCE: Final = "We are open from nine to six."
READING: Final = ReadingRequest(
    question=QUESTION.question,
    passages=(("Hours", SENTENCE),),
    sentences=(SENTENCE,),
    spans=((0, len(SENTENCE)),),
)
READING_TOKENS: Final = 1024
DRAFTS: Final = (QUESTION, AFTER_TOOLS)
MEANING: Final[Mapping[Lack, str]] = {
    Lack.TOOLS: "the model can look up passages or hand over to a person only by writing so",
    Lack.SCHEMA: "a reading is asked for in words",
}


def model_checks(settings: Settings, fix: LiveFix) -> Iterator[LiveCheck]:
    """One line for each model that writes drafts and one for the judge."""
    endpoint = model_endpoint(settings)
    for variable, model in endpoint.models if endpoint.url else ():
        if variable != ModelRole.JUDGE.variable:
            yield _Models(settings, endpoint, variable, model, fix).drafts
    if (judge := judge_endpoint(settings)) is not None:
        ((variable, model),) = judge.models
        yield _Models(settings, judge, variable, model, fix).reading


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """The check of calls that were answered, and the last answer."""

    check: DoctorCheck
    answer: Completion


@dataclass(frozen=True, slots=True)
class _Models:
    """The calls of one model."""

    settings: Settings
    endpoint: Endpoint
    variable: str
    model: str
    fix: LiveFix

    async def drafts(self) -> DoctorCheck:
        """The calls for a reply."""
        made = await self._made("live model call", DRAFTS, self.settings.model_max_tokens)
        return made if isinstance(made, DoctorCheck) else made.check

    async def reading(self) -> DoctorCheck:
        """The call of the judge; its answer must be a reading."""
        made = await self._made("live judge call", (reading_prompt(READING),), READING_TOKENS)
        if isinstance(made, DoctorCheck):
            return made
        answer = read_answer(made.answer.text, READING)
        if answer.reading is not None:
            return made.check
        found = f"{made.check.found}; its answer is no reading ({answer.outcome.value} {answer.detail})"
        fix = f"set {ModelRole.JUDGE.variable} to a model that answers in JSON, instead of {self.model}"
        return failed("live judge call", found, fix)

    async def _made(
        self, check: str, prompts: tuple[Prompt, ...], max_tokens: int
    ) -> _Answered | DoctorCheck:
        """Make the calls one after the other; the failed check where one of them fails."""
        endpoint, called = self.endpoint, f"{self.model} at {self.endpoint.url}"
        started, tokens = time.monotonic(), Tokens()
        async with openai_client.client(endpoint.url, endpoint.key, connections=1) as client:
            model = OpenAIChat(client, model=self.model, max_tokens=max_tokens)
            try:
                for prompt in prompts:
                    answer = await model.complete(prompt, self.settings.model_timeout_s)
                    tokens += answer.tokens
            except (ModelUnavailable, ModelRejected) as error:
                known = failure(error.__cause__) if isinstance(error.__cause__, Exception) else None
                found = f"{called}: {str(error)[:SHOWN_CHARS]}"
                status, kind = (known.status, known.cause) if known else (None, "")
                return failed(check, found, self.fix(endpoint, self.variable, status, kind or error.kind))
        took_s = time.monotonic() - started
        found = f"{called} answered in {took_s * 1000:.0f} ms: {_shown(tokens)}"
        if took_s > SLOW_S * len(prompts):
            return _Answered(check=warned(check, found, SLOW.format(self.variable)), answer=answer)
        return _Answered(check=self._with_lacks(check, found, model.dialect.lacks), answer=answer)

    def _with_lacks(self, check: str, found: str, lacks: frozenset[Lack]) -> DoctorCheck:
        if not lacks:
            return passed(check, found)
        named = ", ".join(lack for lack in Lack if lack in lacks)
        meant = "; ".join(MEANING[lack] for lack in Lack if lack in lacks & MEANING.keys())
        return warned(
            check,
            f"{found}; the server does not take {named}",
            f"{meant}; set {self.variable} to a model that takes them",
            unless=not meant,
        )


def _shown(tokens: Tokens) -> str:
    return f"{tokens.prompt} + {tokens.completion} tokens" if tokens != Tokens() else "? + ? tokens"
