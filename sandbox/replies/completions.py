"""An answer in the format of the chat completions API: one JSON object, or the chunks of a stream."""

from __future__ import annotations

import time
from collections.abc import Iterator

import orjson

from sandbox.replies.answers import SandboxAnswer
from sandbox.replies.chat_request import ChatRequest
from sandbox.routes import CHAT_MODEL, CLASSIFIER_MODEL


def completion_body(request: ChatRequest, answer: SandboxAnswer, number: int) -> dict[str, object]:
    """The body of a completion that is not streamed."""
    message: dict[str, object] = {
        "role": "assistant",
        "content": answer.text,
        "refusal": answer.refusal or None,
    }
    if answer.tool or answer.refusal:
        message["content"] = None
    if answer.tool:
        message["tool_calls"] = [_tool_call(answer, number)]
    logprobs = {"content": answer.logprobs} if request.logprobs and answer.logprobs else None
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": _finish_reason(answer)}
    head = _head(request, number, "chat.completion")
    return head | {"choices": [choice], "usage": token_usage(request, answer)}


def completion_events(request: ChatRequest, answer: SandboxAnswer, number: int) -> Iterator[bytes]:
    """The server-sent events of a streamed completion: one chunk per word, then ``[DONE]``."""
    head = _head(request, number, "chat.completion.chunk")
    yield _event(head, {"role": "assistant", "content": None if answer.tool else ""})
    if answer.tool:
        yield _event(head, {"tool_calls": [{"index": 0, **_tool_call(answer, number)}]})
    if answer.refusal:
        yield _event(head, {"refusal": answer.refusal})
    for at, word in enumerate(answer.text.split(" ") if answer.text else ()):
        yield _event(head, {"content": f" {word}" if at else word})
    yield _event(head, {}, _finish_reason(answer))
    if request.stream_usage:
        yield _line(head | {"choices": [], "usage": token_usage(request, answer)})
    yield b"data: [DONE]\n\n"


def token_usage(request: ChatRequest, answer: SandboxAnswer) -> dict[str, int]:
    """Tokens, approximated by the number of words."""
    completion_words = len(f"{answer.text} {answer.refusal} {answer.arguments}".split())
    return {
        "prompt_tokens": request.prompt_words,
        "completion_tokens": completion_words,
        "total_tokens": request.prompt_words + completion_words,
    }


def _head(request: ChatRequest, number: int, kind: str) -> dict[str, object]:
    return {
        "id": f"chatcmpl-sandbox-{number}",
        "object": kind,
        "created": int(time.time()),
        "model": CHAT_MODEL if request.classifier is None else CLASSIFIER_MODEL,
        "system_fingerprint": "sandbox",
    }


def _tool_call(answer: SandboxAnswer, number: int) -> dict[str, object]:
    function = {"name": answer.tool, "arguments": answer.arguments}
    return {"id": f"call_sandbox_{number}", "type": "function", "function": function}


def _finish_reason(answer: SandboxAnswer) -> str:
    return "tool_calls" if answer.tool else "stop"


def _event(head: dict[str, object], delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    return _line(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def _line(chunk: dict[str, object]) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"
