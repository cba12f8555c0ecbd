"""``worker.ports.LanguageModel`` over any OpenAI-compatible chat endpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import structlog
from openai import APIStatusError, OpenAIError
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

from worker.adapters.call_guard import UNGUARDED, Guard
from worker.adapters.openai_client import Watch, answer, failure, storable
from worker.adapters.openai_http import ApiClient
from worker.errors import ModelRejected, ModelUnavailable
from worker.generation import ESCALATE_TOOL, SEARCH_TOOL, estimated_tokens
from worker.model import (
    AttemptOutcome,
    Completion,
    Json,
    MessageRole,
    Prompt,
    Tokens,
    Tool,
    ToolCall,
    ToolRound,
)

MOST_TOOL_CALLS: Final = 5
MOST_TOKENS: Final = 2**31
SCHEMA_NAME: Final = "reading"
SCHEMA_REFUSALS: Final = frozenset({404, 422, 501})
SCHEMA_WORDS: Final = re.compile(r"response_?format|json_?schema", re.IGNORECASE)

log = structlog.get_logger(__name__)


@cache
def _tool(tool: Tool) -> ChatCompletionToolParam:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": {
                "type": "object",
                "properties": {tool.argument: {"type": "string", "description": tool.meaning}},
                "required": [tool.argument],
                "additionalProperties": False,
            },
        },
    }


class OpenAIChat:
    """Asks for one completion.

    Args:
        client: from ``openai_client.client``.
        model: name of the model.
        max_tokens: longest answer paid for.
        watch: records whether the endpoint is usable.
        guard: stands before each call.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        model: str,
        max_tokens: int,
        watch: Watch | None = None,
        guard: Guard = UNGUARDED,
    ) -> None:
        self._client = client
        self._model = model
        self._max_tokens = max_tokens
        self._watch = watch or Watch("model")
        self._guard = guard
        self._takes_schema = True

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """One answer, tool request or refusal, within ``timeout_s``."""
        body: dict[str, object] = {
            "model": self._model,
            "messages": list(_messages(prompt)),
            "max_tokens": self._max_tokens,
        }
        if prompt.tools:
            body["tools"] = [_tool(tool) for tool in prompt.tools]
        if prompt.schema is not None and self._takes_schema:
            body["response_format"] = _response_format(prompt.schema)
        estimate = estimated_tokens(prompt) + self._max_tokens  # as servers count a call before its answer
        try:
            document = await self._answer(body, timeout_s, estimate)
        except (OpenAIError, TimeoutError, ValueError) as error:
            raise self._translated(error) from error
        self._watch.worked()
        completion = _completion(document)
        self._guard.spent(estimate, completion.tokens.prompt + completion.tokens.completion)
        return completion

    async def _answer(self, body: Mapping[str, object], timeout_s: float, tokens: int) -> Any:
        """The server's answer; one that refuses a schema is asked without it, now and from now on."""
        try:
            return await self._posted(body, timeout_s, tokens)
        except APIStatusError as error:
            if "response_format" not in body or not _may_be_schema(error):
                raise
        plain = {name: value for name, value in body.items() if name != "response_format"}
        document = await self._posted(plain, timeout_s, tokens)
        self._takes_schema = False
        log.info("schema_refused", model=self._model)
        return document

    async def _posted(self, body: Mapping[str, object], timeout_s: float, tokens: int) -> Any:
        return await answer(
            self._client,
            "/chat/completions",
            body,
            timeout_s,
            holding="choices",
            guard=self._guard,
            tokens=tokens,
        )

    def _translated(self, error: Exception) -> ModelUnavailable | ModelRejected:
        known = failure(error)
        if known is None:
            return ModelUnavailable(
                storable(f"{type(error).__name__}: {error}"[:300]), kind=AttemptOutcome.MALFORMED
            )
        self._watch.failed(known)
        if known.may_succeed_later:
            return ModelUnavailable(known.message, kind=known.kind, retry_after_s=known.retry_after_s)
        return ModelRejected(known.message, status=known.status or 0, kind=known.kind)


def _response_format(schema: Mapping[str, Json]) -> dict[str, object]:
    return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "strict": True, "schema": schema}}


def _may_be_schema(error: APIStatusError) -> bool:
    """Whether a server refuses the schema: each 400 may, other statuses say so."""
    names_it = SCHEMA_WORDS.search(f"{error.message} {error.param} {error.body}") is not None
    return error.status_code == 400 or (error.status_code in SCHEMA_REFUSALS and names_it)


def _messages(prompt: Prompt) -> Iterable[ChatCompletionMessageParam]:
    yield {"role": "system", "content": prompt.system}
    for line in prompt.history:
        if line.role is MessageRole.USER:
            yield {"role": "user", "content": line.text}
        else:  # a person of the team speaks for the account, as the AI does
            yield {"role": "assistant", "content": line.text}
    if prompt.passages:
        yield {"role": "user", "content": prompt.passages}
    yield {"role": "user", "content": prompt.question}
    for done in prompt.tool_rounds:
        yield from _tool_messages(done)


def _tool_messages(done: ToolRound) -> Iterable[ChatCompletionMessageParam]:
    yield {
        "role": "assistant",
        "tool_calls": [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in done.calls
        ],
    }
    for result in done.results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}


def _completion(document: Any) -> Completion:
    """Our value from the vendor's; a missing or empty answer is retryable."""
    try:
        choice = document["choices"][0]
        message, finish_reason = choice["message"], str(choice.get("finish_reason"))
        calls = tuple(_tool_call(call) for call in (message.get("tool_calls") or ())[:MOST_TOOL_CALLS])
        text = storable(message.get("content") or "").strip()
        refusal = storable(message.get("refusal") or "") or None
        tokens = token_counts(document.get("usage") or {})
        model = storable(str(document["model"]))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelUnavailable(
            storable(f"malformed completion: {error}"[:300]), kind=AttemptOutcome.MALFORMED
        ) from error
    if finish_reason == "content_filter" and not text:
        refusal = refusal or "stopped by the vendor's content filter"
    if not text and not calls and not refusal:
        raise ModelUnavailable("empty completion", kind=AttemptOutcome.EMPTY)
    return Completion(
        text=text,
        model=model,
        tool_calls=calls,
        refusal=refusal,
        tokens=tokens,
        finish_reason=storable(finish_reason),
    )


def token_counts(usage: Mapping[str, Any]) -> Tokens:
    """What a call cost, as the server counted."""
    prompt, completion = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    if not (0 <= prompt < MOST_TOKENS and 0 <= completion < MOST_TOKENS):
        return Tokens()  # an impossible count is no reason to lose a paid answer
    return Tokens(prompt=prompt, completion=completion)


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    name = call["function"]["name"]
    arguments = json.loads(call["function"].get("arguments") or "{}")
    if name not in (SEARCH_TOOL, ESCALATE_TOOL):
        raise ValueError(f"unknown tool {name!r}")
    if not isinstance(arguments, dict):
        raise TypeError("tool arguments are not an object")
    plain = {key: storable(value) if isinstance(value, str) else value for key, value in arguments.items()}
    return ToolCall(call_id=storable(str(call["id"])), name=name, arguments=plain)
