"""A prompt with a JSON schema, on servers that take it and on those that do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.http_server import Answer, Asked, http_server, json_answer
from worker.adapters import openai_client
from worker.adapters.openai_chat import OpenAIChat
from worker.errors import ModelRejected
from worker.model import Prompt

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"relevance": {"type": "number"}}}
PROMPT = Prompt(system="s", history=(), question="q", schema=SCHEMA)
READ = {"content": '{"relevance": 1}'}
ANSWERED = {"model": "m", "choices": [{"message": READ, "finish_reason": "stop"}]}


def refusing(status: int, message: str) -> Answer:
    """A refusal of the server."""
    return json_answer({"error": {"message": message, "type": "invalid_request_error"}}, status)


@contextmanager
def without_schema(refusal: Answer) -> Iterator[tuple[str, list[Asked]]]:
    """A server that refuses each body with a response format so; what it was asked."""
    answered = json_answer(ANSWERED)
    with http_server(lambda asked: refusal if "response_format" in asked.json else answered) as (url, seen):
        yield f"{url}/v1", seen


async def test_a_schema_is_sent_as_a_strict_response_format() -> None:
    """The format has the name, the strictness and the schema of the prompt."""
    with without_schema(json_answer(ANSWERED)) as (url, asked):
        async with openai_client.client(url, "key", connections=2) as client:
            await OpenAIChat(client, model="m", max_tokens=64).complete(PROMPT, 5)

    expected = {
        "type": "json_schema",
        "json_schema": {"name": "reading", "strict": True, "schema": SCHEMA},
    }
    assert asked[0].json["response_format"] == expected


@pytest.mark.parametrize(
    "refusal",
    [
        refusing(400, "Unknown parameter: 'response_format'."),
        refusing(400, "Bad request"),
        refusing(404, "No endpoints found that support response_format"),
        refusing(422, "body.response_format.json_schema: extra fields not permitted"),
        refusing(501, "json_schema is not implemented"),
    ],
)
async def test_a_server_without_schemas_is_asked_once_more_and_remembered(
    refusal: Answer,
) -> None:
    """The second call of the same attempt has no format, and neither has the next attempt."""
    with without_schema(refusal) as (url, asked):
        async with openai_client.client(url, "key", connections=2) as client:
            model = OpenAIChat(client, model="m", max_tokens=64)
            answers = [await model.complete(PROMPT, 5) for _ in range(2)]

    assert [each.text for each in answers] == [READ["content"]] * 2
    assert ["response_format" in each.json for each in asked] == [True, False, False]


async def test_a_refusal_of_another_cause_forgets_no_schema() -> None:
    """A wrong key is not asked again."""
    with without_schema(refusing(401, "Incorrect API key")) as (url, asked):
        async with openai_client.client(url, "key", connections=2) as client:
            model = OpenAIChat(client, model="m", max_tokens=64)
            for _ in range(2):
                with pytest.raises(ModelRejected):
                    await model.complete(PROMPT, 5)

    assert ["response_format" in each.json for each in asked] == [True, True]
