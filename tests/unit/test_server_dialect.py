"""What a server does not take: what is left out, how long that is remembered, and what is no such refusal."""

from __future__ import annotations

import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from worker.adapters import server_dialect
from worker.adapters.api_errors import ApiStatusError
from worker.adapters.chat_messages import chat_messages, merged
from worker.adapters.server_dialect import Dialect, Lack, adapted, refused_part
from worker.model import Message, MessageRole, Prompt, ToolCall, ToolResult, ToolRound

CALL = ToolCall(call_id="call00001", name="search_documents", arguments={"query": "hours"})
DONE = ToolRound(calls=(CALL,), results=(ToolResult(call_id="call00001", content="From nine."),))
BODY: dict[str, Any] = {
    "model": "m",
    "messages": chat_messages(Prompt(system="s", history=(), question="q", tool_rounds=(DONE,))),
    "max_tokens": 64,
    "temperature": 0,
    "tools": [{}],
    "tool_choice": "none",
    "response_format": {},
    "logprobs": True,
    "stream": False,
}


def refusal(message: str, status: int = 400) -> ApiStatusError:
    """A refusal in these words."""
    return ApiStatusError(message, status=status, headers={}, body={"message": message})


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        (
            refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            Lack.MAX_TOKENS,
        ),
        (refusal("temperature does not support 0 with this model"), Lack.TEMPERATURE),
        (refusal("Unknown parameter: response_format"), Lack.SCHEMA),
        (refusal("response_format.json_schema is not implemented", 501), Lack.SCHEMA),
        (refusal("Bad request"), Lack.SCHEMA),
        (refusal("tool_choice: 'none' is not supported"), Lack.TOOL_CHOICE),
        (refusal("gemma does not support tools"), Lack.TOOLS),
        (refusal("No endpoints found that support tool use", 404), Lack.TOOLS),
        (refusal("System role not supported"), Lack.SYSTEM),
        (refusal("Jinja Exception: Conversation roles must alternate", 500), Lack.SYSTEM),
        (refusal("messages.1.content: Field required", 422), Lack.CONTENT),
        (refusal("The `reasoning_content` in the thinking mode must be passed back."), Lack.REASONING),
        (refusal("Missing `reasoning_content` field, see guides/thinking#tool-calls"), Lack.REASONING),
        (refusal("Function call is missing a thought_signature in functionCall parts."), Lack.SIGNATURES),
        (refusal("This model only support stream mode, please enable the stream parameter"), Lack.ONE_PIECE),
        (refusal("enable_thinking must be set to false for non-streaming calls"), Lack.ONE_PIECE),
        (refusal("Requested sample logprobs of 20, which is greater than max allowed: 5"), Lack.LOGPROBS),
        (refusal("Incorrect API key provided", 401), None),
        (refusal("prompt is too long: maximum context length is 4096 tokens"), None),
        (refusal("Your credit balance is too low: tools not supported", 400), None),
        (refusal("Rate limit: tools not supported", 429), None),
        (refusal("The server is overloaded", 503), None),
    ],
)
def test_a_refusal_names_the_part_that_is_left_out(error: ApiStatusError, lack: Lack | None) -> None:
    """A refusal of the key, the length or the rate names none."""
    assert refused_part(error, BODY, frozenset()) is lack


def test_a_value_that_is_too_large_is_no_unknown_field() -> None:
    """Another field would be refused likewise."""
    body = {"max_tokens": 9000, "messages": []}

    assert refused_part(refusal("max_tokens must be at most 4096"), body, frozenset()) is None


def test_nothing_is_asked_without_that_was_not_asked_with() -> None:
    """Else the same request would be repeated."""
    assert refused_part(refusal("tools are not supported"), {"messages": []}, frozenset()) is None


def test_calls_without_signatures_are_text_while_tools_are_still_offered() -> None:
    """The model may search again."""
    body = adapted(BODY, frozenset({Lack.SIGNATURES}))

    assert [each["role"] for each in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["tools"] == BODY["tools"]


def test_without_tools_their_calls_and_results_are_text() -> None:
    """The instructions may go into the first message as well."""
    body = adapted(BODY, frozenset({Lack.TOOLS, Lack.SYSTEM}))

    assert [(each["role"], each["content"]) for each in body["messages"]] == [
        ("user", "s\n\nq"),
        ("assistant", 'I searched: {"query": "hours"}'),
        ("user", "From nine."),
    ]
    assert not body.keys() & {"tools", "tool_choice"}


async def test_what_helped_is_remembered_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the server is asked with all parts again; what did not help is not remembered."""
    asked: list[bool] = []
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    async def post(body: Any) -> str:
        asked.append("temperature" in body)
        if "temperature" in body:
            raise refusal("temperature is not supported")
        return "answer"

    async def always_refused(_: Any) -> str:
        raise refusal("temperature is not supported")

    dialect = Dialect("m")
    with pytest.raises(ApiStatusError):
        await Dialect("other").ask({"temperature": 0, "messages": []}, always_refused)
    for wait_s in (0.0, 60.0, server_dialect.REMEMBERED_S):
        now[0] += wait_s
        assert await dialect.ask({"temperature": 0, "messages": []}, post) == "answer"

    assert asked == [True, False, False, True, False]


async def test_the_log_names_what_the_server_does_not_take() -> None:
    """In the words of the request: a terminal shows lists by ``repr``."""

    async def post(body: Any) -> str:
        if "temperature" in body:
            raise refusal("temperature is not supported")
        return "answer"

    with capture_logs() as lines:
        await Dialect("m").ask({"temperature": 0, "messages": []}, post)

    assert [repr(each["parts"]) for each in lines] == ["['temperature']"]


def test_the_turns_of_a_conversation_alternate_and_begin_with_the_user() -> None:
    """Whatever lines are stored, none of them is lost."""
    roles = (
        MessageRole.ASSISTANT,
        MessageRole.USER,
        MessageRole.USER,
        MessageRole.ASSISTANT,
        MessageRole.AGENT,
    )
    history = tuple(Message(role=role, text=f"line {at}") for at, role in enumerate(roles))
    turns = chat_messages(Prompt(system="s", history=history, question="q", passages="p"))[1:]

    assert [each["role"] for each in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert all(f"line {at}" in str(turns) for at in range(len(roles)))
    assert turns[-1]["content"] == "p\n\nq"
    assert merged(turns) == turns
