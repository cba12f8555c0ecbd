"""``worker.ports.LanguageModel`` over any OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Final

from worker.adapters.api_errors import ApiError
from worker.adapters.call_guard import UNGUARDED, Guard
from worker.adapters.chat_messages import chat_messages, tool_parameter
from worker.adapters.completion_reading import completion_of
from worker.adapters.openai_client import Watch, answer
from worker.adapters.openai_http import ApiClient
from worker.adapters.server_dialect import Dialect
from worker.adapters.vendor_failures import call_failure
from worker.errors import ModelRejected, ModelUnavailable
from worker.generation import estimated_tokens
from worker.model import Completion, Json, Prompt

SCHEMA_NAME: Final = "reading"


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
        self.dialect = Dialect(model)

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """One answer, tool request or refusal; what a server refuses of the request is left out."""
        estimate = estimated_tokens(prompt) + self._max_tokens  # as servers count a call before its answer

        def post(body: Mapping[str, Any]) -> Coroutine[Any, Any, Any]:
            call = (self._client, "/chat/completions", body, timeout_s)
            return answer(*call, holding="choices", guard=self._guard, tokens=estimate)

        try:
            document = await self.dialect.ask(self._body(prompt), post)
        except (ApiError, TimeoutError, ValueError) as error:
            raise self._translated(error) from error
        self._watch.worked()
        completion = completion_of(
            document,
            model=self._model,
            max_tokens=self._max_tokens,
            has_tools=bool(prompt.tools) and not prompt.must_answer,
        )
        self._guard.spent(estimate, completion.tokens.prompt + completion.tokens.completion)
        return completion

    def _body(self, prompt: Prompt) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self._model,
            "messages": chat_messages(prompt),
            "max_tokens": self._max_tokens,
            "stream": False,  # some gateways stream unless they are asked not to
        }
        if prompt.tools:
            body["tools"] = [tool_parameter(tool) for tool in prompt.tools]
            if prompt.must_answer:
                body["tool_choice"] = "none"
        if prompt.schema is not None:
            body["response_format"] = _response_format(prompt.schema)
        return body

    def _translated(self, error: Exception) -> ModelUnavailable | ModelRejected:
        known = call_failure(error)
        self._watch.failed(known)
        if known.may_succeed_later:
            return ModelUnavailable(known.message, kind=known.kind, retry_after_s=known.retry_after_s)
        return ModelRejected(
            known.message, status=known.status or 0, kind=known.kind, is_too_long=known.is_too_long
        )


def _response_format(schema: Mapping[str, Json]) -> dict[str, object]:
    return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "strict": True, "schema": schema}}
