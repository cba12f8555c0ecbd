"""A prompt with a JSON schema, on servers that take it and on those that do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import orjson
import pytest

from worker.adapters import openai_client
from worker.adapters.openai_chat import OpenAIChat
from worker.errors import ModelRejected
from worker.model import Prompt

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"relevance": {"type": "number"}}}
PROMPT = Prompt(system="s", history=(), question="q", schema=SCHEMA)
ANSWERED = {"model": "m", "choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}


def refusing(status: int, message: str) -> tuple[int, dict[str, Any]]:
    """A refusal of the server."""
    return status, {"error": {"message": message, "type": "invalid_request_error"}}


@contextmanager
def without_schema(refusal: tuple[int, dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that refuses each body with a response format so; the bodies it got."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
            bodies.append(body)
            status, document = refusal if "response_format" in body else (200, ANSWERED)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            content = orjson.dumps(document)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", bodies
        finally:
            server.shutdown()
            thread.join()


async def test_a_schema_is_sent_as_a_strict_response_format() -> None:
    """The format has the name, the strictness and the schema of the prompt."""
    with without_schema((200, ANSWERED)) as (url, bodies):
        async with openai_client.client(url, "key", connections=2) as client:
            await OpenAIChat(client, model="m", max_tokens=64).complete(PROMPT, 5)

    expected = {
        "type": "json_schema",
        "json_schema": {"name": "reading", "strict": True, "schema": SCHEMA},
    }
    assert bodies[0]["response_format"] == expected


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
    refusal: tuple[int, dict[str, Any]],
) -> None:
    """The second call of the same attempt has no format, and neither has the next attempt."""
    with without_schema(refusal) as (url, bodies):
        async with openai_client.client(url, "key", connections=2) as client:
            model = OpenAIChat(client, model="m", max_tokens=64)
            answers = [await model.complete(PROMPT, 5) for _ in range(2)]

    assert [each.text for each in answers] == ["{}", "{}"]
    assert ["response_format" in body for body in bodies] == [True, False, False]


async def test_a_refusal_of_another_cause_forgets_no_schema() -> None:
    """A wrong key is not asked again."""
    with without_schema(refusing(401, "Incorrect API key")) as (url, bodies):
        async with openai_client.client(url, "key", connections=2) as client:
            model = OpenAIChat(client, model="m", max_tokens=64)
            for _ in range(2):
                with pytest.raises(ModelRejected):
                    await model.complete(PROMPT, 5)

    assert ["response_format" in body for body in bodies] == [True, True]
