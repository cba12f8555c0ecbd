"""A prompt as chat messages: a system message, then user and assistant strictly in turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from worker.model import Message, MessageRole, Prompt, Tool, ToolRound

ChatTurn = dict[str, Any]
BETWEEN: Final = "\n\n"
EARLIER: Final = "(earlier messages are left out)"
"""Stands before a conversation that begins with our own line."""
NO_TEXT: Final = "(no text)"
"""Some servers refuse an empty message."""


def chat_messages(prompt: Prompt) -> list[ChatTurn]:
    """The messages of a prompt."""
    turns: list[ChatTurn] = [{"role": "system", "content": prompt.system}] if prompt.system.strip() else []
    question = BETWEEN.join(filter(str.strip, (prompt.passages, prompt.question))) or NO_TEXT
    turns += merged([*_history(prompt.history), {"role": "user", "content": question}])
    for done in prompt.tool_rounds:
        turns += _tool_turns(done)
    return turns


def merged(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Turns of two roles in strict alternation, the first one the user's."""
    found: list[ChatTurn] = []
    for turn in turns:
        if not found and turn["role"] != "user":
            found.append({"role": "user", "content": EARLIER})
        if found and found[-1]["role"] == turn["role"]:
            found[-1] = {**turn, "content": f"{found[-1]['content']}{BETWEEN}{turn['content']}"}
        else:
            found.append(turn)
    return found


def without_system(messages: Sequence[ChatTurn]) -> list[ChatTurn]:
    """The messages with the instructions before the first user message."""
    if not messages or messages[0]["role"] != "system":
        return list(messages)
    first, *rest = messages
    return merged_plain([{"role": "user", "content": first["content"]}, *rest])


def without_tools(messages: Sequence[ChatTurn]) -> list[ChatTurn]:
    """The messages with calls and results as plain text."""
    plain: list[ChatTurn] = []
    for message in messages:
        if message.get("tool_calls"):
            asked = "; ".join(str(call["function"]["arguments"]) for call in message["tool_calls"])
            plain.append({"role": "assistant", "content": f"I searched: {asked}"})
        elif message["role"] == "tool":
            plain.append({"role": "user", "content": message["content"]})
        else:
            plain.append(message)
    return merged_plain(plain)


def with_contents(messages: Sequence[ChatTurn]) -> list[ChatTurn]:
    """The messages, each with a content."""
    return [{"content": "", **message} for message in messages]


def with_reasoning(messages: Sequence[ChatTurn]) -> list[ChatTurn]:
    """The messages, each of the model with a reasoning: an empty one is refused, and none is kept."""
    return [
        message | {"reasoning_content": " "} if message["role"] == "assistant" else message
        for message in messages
    ]


def merged_plain(messages: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Neighbours of one role merged where both are plain text."""
    found: list[ChatTurn] = []
    for message in messages:
        before = found[-1] if found else None
        if before and before["role"] == message["role"] == "user":
            found[-1] = {**before, "content": f"{before['content']}{BETWEEN}{message['content']}"}
        else:
            found.append(message)
    return found


@cache
def tool_parameter(tool: Tool) -> Mapping[str, object]:
    """A tool as the API declares it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": {
                "type": "object",
                "properties": {tool.argument: {"type": "string", "description": tool.meaning}},
                "required": [tool.argument],
            },
        },
    }


def _history(lines: Iterable[Message]) -> Iterable[ChatTurn]:
    for line in lines:
        if line.text.strip():
            # a person of the team speaks for the account, as the AI does
            role = "user" if line.role is MessageRole.USER else "assistant"
            yield {"role": role, "content": line.text}


def _tool_turns(done: ToolRound) -> Iterable[ChatTurn]:
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
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content or NO_TEXT}
