"""``worker.ports.LanguageModel`` over any OpenAI-compatible chat endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any, Final

from openai import AsyncOpenAI, OpenAIError, omit
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolParam

from worker.adapters.openai_client import failure, storable
from worker.errors import ModelRejected, ModelUnavailable
from worker.generation import ESCALATE_TOOL, SEARCH_TOOL
from worker.model import Completion, Prompt, Tokens, ToolCall, ToolRound

MOST_TOOL_CALLS: Final = 5


def _tool(name: str, description: str, argument: str, meaning: str) -> ChatCompletionToolParam:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string", "description": meaning}},
                "required": [argument],
                "additionalProperties": False,
            },
        },
    }


TOOLS: Final = (
    _tool(SEARCH_TOOL, "Search the account's documents for passages.", "query", "What to look for."),
    _tool(ESCALATE_TOOL, "Hand the conversation to a person; nothing is sent.", "reason", "Why."),
)


class OpenAIChat:
    """Asks for one completion.

    Args:
        client: from ``openai_client.client``.
        model: name of the model.
        max_tokens: longest answer paid for.
    """

    def __init__(self, client: AsyncOpenAI, *, model: str, max_tokens: int) -> None:
        self._client = client
        self._model = model
        self._max_tokens = max_tokens

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """One answer, tool request or refusal, within ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._client.chat.completions.create(
                    model=self._model,
                    messages=list(_messages(prompt)),
                    tools=TOOLS if prompt.tools_allowed else omit,
                    max_tokens=self._max_tokens,
                    timeout=timeout_s,
                )
        except (OpenAIError, TimeoutError, ValueError) as error:
            raise _translated(error) from error
        return _completion(answer)


def _messages(prompt: Prompt) -> Iterable[ChatCompletionMessageParam]:
    yield {"role": "system", "content": prompt.system}
    for line in prompt.history:
        if line.role == "assistant":
            yield {"role": "assistant", "content": line.text}
        else:
            yield {"role": "user", "content": line.text}
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


def _completion(answer: ChatCompletion) -> Completion:
    """Our value from the vendor's; anything missing or empty is malformed and worth another try."""
    try:
        choice = answer.choices[0]
        message = choice.message
        calls = tuple(_tool_call(call) for call in (message.tool_calls or ())[:MOST_TOOL_CALLS])
        text = storable(message.content or "").strip()
        refusal = storable(message.refusal or "") or None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelUnavailable(storable(f"malformed completion: {error}"[:300]), kind="malformed") from error
    if choice.finish_reason == "content_filter" and not text:
        refusal = refusal or "stopped by the vendor's content filter"
    if not text and not calls and not refusal:
        raise ModelUnavailable("empty completion", kind="empty")
    usage = answer.usage
    return Completion(
        text=text,
        model=storable(str(answer.model)),
        tool_calls=calls,
        refusal=refusal,
        tokens=Tokens(prompt=usage.prompt_tokens, completion=usage.completion_tokens) if usage else Tokens(),
        finish_reason=storable(str(choice.finish_reason)),
    )


def _tool_call(call: Any) -> ToolCall:  # noqa: ANN401  # the SDK's union of tool call types
    arguments = json.loads(call.function.arguments or "{}")
    if call.function.name not in (SEARCH_TOOL, ESCALATE_TOOL):
        raise ValueError(f"unknown tool {call.function.name!r}")
    if not isinstance(arguments, dict):
        raise TypeError("tool arguments are not an object")
    plain = {name: storable(value) if isinstance(value, str) else value for name, value in arguments.items()}
    return ToolCall(call_id=str(call.id), name=call.function.name, arguments=plain)


def _translated(error: Exception) -> ModelUnavailable | ModelRejected:
    known = failure(error)
    if known is None:
        return ModelUnavailable(storable(f"{type(error).__name__}: {error}"[:300]), kind="malformed")
    if known.passes_by_itself:
        return ModelUnavailable(known.message, kind=known.kind, retry_after_s=known.retry_after_s)
    return ModelRejected(known.message, status=known.status or 0)
