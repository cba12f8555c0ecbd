"""The sandbox through the real openai client: what every route answers."""

from __future__ import annotations

import json

import pytest
from openai import AsyncOpenAI
from openai.types import ModerationMultiModalInputParam
from openai.types.chat import ChatCompletionMessageParam

from sandbox.server import SandboxHandle
from tests.contract.sandbox_client import TOOLS, ask, reply

JUDGE = """HUSHGATE-JUDGE: reading
QUESTION:
> When does the shop open?
PASSAGES:
> [1] Hours
> The shop opens at nine on weekdays.
REPLY:
> 1. The shop opens at nine.
> 2. Free champagne is included.
END:
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When do you open?", "The shop opens at nine on weekdays. [3]"),
        ("Who won the cup in 1974?", "I do not know: nothing in the documents I was given answers that."),
        ("Hello there!", "Hello! How can I help you?"),
        ("thanks a lot for your help", "You are welcome. Is there anything else I can help you with?"),
    ],
)
async def test_a_question_gets_its_kind_of_answer(client: AsyncOpenAI, question: str, expected: str) -> None:
    """Known, unknown, greeting and thanks each have their own answer."""
    assert await reply(client, question) == expected


async def test_it_asks_for_documents_and_then_answers_from_them(client: AsyncOpenAI) -> None:
    """Without passages the search tool comes first; its result is then a passage like any other."""
    asked = await ask(client, "When do you open?", system="Be brief.", tools=TOOLS)
    call = (asked.choices[0].message.tool_calls or [])[0]
    assert call.type == "function"
    after: tuple[ChatCompletionMessageParam, ...] = (
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.function.name, "arguments": call.function.arguments},
                }
            ],
        },
        {"role": "tool", "tool_call_id": call.id, "content": "[1] Hours: We open at nine."},
    )
    answered = await reply(client, "When do you open?", system="Be brief.", after=after, tools=TOOLS)

    assert (
        asked.choices[0].finish_reason,
        call.function.name,
        json.loads(call.function.arguments),
        answered,
    ) == ("tool_calls", "search_documents", {"query": "When do you open?"}, "We open at nine. [1]")


@pytest.mark.parametrize(
    "question",
    ["I want to speak to a human", "agent", "Let me talk to your manager!", "This is a refund dispute"],
)
async def test_who_asks_for_a_person_is_escalated(client: AsyncOpenAI, question: str) -> None:
    """The escalate tool is called with a reason, even when a passage would fit."""
    message = (await ask(client, question, tools=TOOLS)).choices[0].message
    call = (message.tool_calls or [])[0]

    assert call.type == "function"
    assert (call.function.name, question in json.loads(call.function.arguments)["reason"]) == (
        "escalate",
        True,
    )


async def test_a_judge_is_counted_and_failed_apart_from_chat(
    client: AsyncOpenAI, sandbox: SandboxHandle
) -> None:
    """A chat marker does not affect the judge, and a score can be forced."""
    marked = JUDGE.replace("open?", "open? [[sandbox:llm=500]] [[sandbox:judge=score=0.1]]")
    answered = json.loads(await reply(client, marked) or "")

    assert (answered["relevance"], answered["sentences"][0]["verdict"]) == (0.1, "not_mentioned")
    assert (sandbox.calls("judge"), sandbox.calls("chat")) == (1, 0)


async def test_moderation_has_all_categories_and_flags_listed_words(client: AsyncOpenAI) -> None:
    """One result per string; what is not listed stays far below any threshold."""
    answered = await client.moderations.create(model="any", input=["What a day", "I will kill you", "stupid"])
    clean, flagged, mild = answered.results
    scores = clean.category_scores.model_dump(
        by_alias=True, include=set(type(clean.category_scores).model_fields)
    )

    assert (len(scores), max(scores.values()) < 0.01) == (13, True)
    assert (clean.flagged, flagged.flagged, flagged.categories.violence) == (False, True, True)
    assert (mild.flagged, 0.2 <= mild.category_scores.harassment < 0.5) == (False, True)


async def test_moderation_of_an_image_flags_what_its_url_names(client: AsyncOpenAI) -> None:
    """Text and image together are one result; only image categories apply to images."""
    parts: list[ModerationMultiModalInputParam] = [
        {"type": "text", "text": "Look at this"},
        {"type": "image_url", "image_url": {"url": "https://x.test/flag-violence-graphic.png"}},
    ]
    answered = await client.moderations.create(model="any", input=parts)
    (result,) = answered.results

    assert (
        result.categories.violence_graphic,
        result.categories.violence,
        result.category_applied_input_types.violence,
        result.category_applied_input_types.hate,
    ) == (True, False, ["text", "image"], ["text"])


async def test_models_say_that_they_are_none(client: AsyncOpenAI) -> None:
    """Every listed model contains the words *no model*; ``*`` stands for any other name."""
    names = [model.id async for model in client.models.list()]

    assert [name for name in names if "(no model)" in name] == names[:-1] != []
    assert names[-1] == "*"


async def test_a_streamed_answer_is_the_same_answer(client: AsyncOpenAI) -> None:
    """The chunks put together, and the usage at the end when the client asks for it."""
    stream = await client.chat.completions.create(
        model="any",
        messages=[
            {"role": "system", "content": "[1] Hours: We open at nine."},
            {"role": "user", "content": "When do you open?"},
        ],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    assert (text, chunks[-2].choices[0].finish_reason) == ("We open at nine. [1]", "stop")
    assert chunks[-1].usage is not None


async def test_no_tool_is_called_when_none_is_allowed(client: AsyncOpenAI) -> None:
    """``tool_choice: none`` forces an answer."""
    message = (await ask(client, "Who won the cup?", tools=TOOLS, tool_choice="none")).choices[0].message

    assert (message.tool_calls, bool(message.content)) == (None, True)
