"""Answers of model servers, with the tool calls in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import orjson

from fuzz.target import Target, as_text, require_storable
from worker.adapters.chat_messages import chat_messages
from worker.adapters.completion_reading import completion_of
from worker.errors import ModelUnavailable
from worker.generation import SEARCH_TOOL, escalation_reason, search_query
from worker.model import Completion, Event, Prompt, Scope, ToolRound

NOW: Final = datetime(2026, 11, 21, tzinfo=UTC)
EVENT: Final = Event(
    event_id="e1", entry_id="1-0", user_id="shop", scope=Scope.CHAT, conversation_id="c1", message_id="m1",
    author_id="a1", text="Hello", created_at=NOW, received_at=NOW,
)  # fmt: skip
ANSWER: Final[dict[str, Any]] = {
    "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    "choices": [{"finish_reason": "stop", "message": {"content": "Hello", "refusal": None}}],
}  # fmt: skip


def check_answer(data: bytes) -> None:
    """A completion that can be stored and sent back, or ModelUnavailable; so with the bytes as arguments."""
    try:
        document = orjson.loads(data)
    except ValueError:
        document = None
    if isinstance(document, dict):
        _check(document)
    text = as_text(data)
    _check(_with_call(text))
    _check({**ANSWER, "choices": [{"message": {"content": text, "refusal": text}}]})


def _check(document: dict[str, Any]) -> None:
    try:
        found = completion_of(document, model="m", max_tokens=64, has_tools=True)
    except ModelUnavailable as error:
        require_storable(str(error))
        return
    require_storable([found.text, found.refusal, found.model, found.finish_reason])
    for call in found.tool_calls:
        require_storable([call.call_id, call.name, search_query(call, EVENT), escalation_reason(call)])
    _check_messages(found)


def _check_messages(found: Completion) -> None:
    """The calls go back to the server with the next question."""
    done = ToolRound(calls=found.tool_calls, results=())
    orjson.dumps(chat_messages(Prompt(system="s", history=(), question="q", tool_rounds=(done,))))


def _with_call(arguments: str) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": SEARCH_TOOL, "arguments": arguments}}
    return {**ANSWER, "choices": [{"message": {"tool_calls": [call]}}]}


TARGETS: Final = (
    Target(
        name="tool_calls",
        about="An answer is a completion that can be stored and sent back, or ModelUnavailable.",
        check=check_answer,
        words=(
            '"choices":', '"message":', '"tool_calls":', '"function":', '"name":"search_documents"',
            '"name":"escalate"', '"arguments":', '"query"', '"reason"', '"content":', '"refusal":',
            '"usage":',
            '"prompt_tokens":', '"finish_reason":"content_filter"', '"model":', '"id":', "{", "}", "[",
            "]", ",",
            "null", "1e308", "1e999", "NaN", "Infinity", "[[[[[[[[", '{"a":{"a":{"a":', "\\u0000",
            "\\\\u0000",
            "\\ud800",
        ),
        seeds=(
            orjson.dumps(ANSWER),
            orjson.dumps(_with_call('{"query": "opening hours"}')),
            b'{"query": "opening hours"}',
        ),
        most_bytes=16_384,
    ),
)  # fmt: skip
