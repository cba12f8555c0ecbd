"""Shared by the sandbox's tests: a client that never retries, and the messages they send."""

from __future__ import annotations

from typing import Any

from openai import AsyncOpenAI, DefaultAioHttpClient
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolParam

from sandbox.server import SandboxHandle

CALL_TIMEOUT_S = 5.0
HANG_TIMEOUT_S = 0.3

PASSAGES = """Answer only from these passages.

[1] Shipping: Parcels leave within two days. Express costs nine euros.

[2] Refunds: We are fair. A refund takes five days. Keep the receipt.

[3] Hours: The shop opens at nine on weekdays."""


def _tool(name: str, field: str) -> ChatCompletionToolParam:
    parameters: dict[str, object] = {
        "type": "object",
        "properties": {field: {"type": "string"}},
        "required": [field],
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [_tool("search_documents", "query"), _tool("escalate", "reason")]


def client_of(sandbox: SandboxHandle, transport: str = "aiohttp") -> AsyncOpenAI:
    """The real client, without retries of its own; ``transport`` is ``httpx2`` or ``aiohttp``."""
    http_client = DefaultAioHttpClient() if transport == "aiohttp" else None
    return AsyncOpenAI(
        api_key="any",
        base_url=sandbox.base_url,
        max_retries=0,
        timeout=CALL_TIMEOUT_S,
        http_client=http_client,
    )


async def ask(
    client: AsyncOpenAI,
    question: str,
    *,
    system: str = PASSAGES,
    after: tuple[ChatCompletionMessageParam, ...] = (),
    **more: Any,
) -> ChatCompletion:
    """One chat call: the system message, the question, and what came after it."""
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": system},
        {"role": "user", "content": question},
        *after,
    ]
    completion: ChatCompletion = await client.chat.completions.create(model="any", messages=messages, **more)
    return completion


async def reply(client: AsyncOpenAI, question: str, **more: Any) -> str | None:
    """The text of one chat call."""
    return (await ask(client, question, **more)).choices[0].message.content
