"""What each adapter makes of a server that refuses this deployment, and of one that is no such API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from sandbox.server import SandboxHandle
from tests.support.http_server import Answer, Asked, http_server
from tests.support.samples import event
from worker.adapters import openai_client
from worker.adapters.openai_chat import OpenAIChat
from worker.adapters.openai_client import Watch
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_moderation import OpenAIModerator
from worker.errors import (
    EmbeddingRejected,
    EndpointMisconfigured,
    ModelRejected,
    ModelUnavailable,
    ModerationUnavailable,
)
from worker.model import Prompt

PROMPT = Prompt(system="s", history=(), question=event().text)
JSON, HTML = "application/json", "text/html; charset=utf-8"


def refusal(**error: Any) -> str:
    """An error object as the API writes it."""
    return json.dumps({"error": {"message": "no", "type": "invalid_request_error"} | error})


QUOTA = refusal(type="insufficient_quota", code="insufficient_quota")
NO_MODEL = refusal(param="model", code="model_not_found")
WRONG = [
    (401, JSON, refusal(code="invalid_api_key"), "key"),
    (403, JSON, refusal(code="unsupported_country_region_territory"), "key"),
    (407, JSON, "{}", "key"),
    (402, JSON, refusal(code=402), "quota"),
    (429, JSON, QUOTA, "quota"),
    (404, JSON, NO_MODEL, "model"),
    (400, JSON, NO_MODEL, "model"),
    (404, HTML, "<h1>Not found</h1>", "address"),
    (405, HTML, "<h1>Method not allowed</h1>", "address"),
    (200, HTML, "<h1>Welcome</h1>", "address"),
    (200, HTML, "data: <h1>Welcome</h1>", "address"),
    (200, JSON, '{"status": "ok"}', "address"),
    (200, JSON, "[]", "address"),
    (200, JSON, '{"error": "Unexpected endpoint or method. (POST /chat/completions)"}', "address"),
    (501, JSON, '{"error": "This server does not support embeddings"}', "address"),
    (308, HTML, "", "address"),
]


@contextmanager
def answering(status: int, kind: str, body: str) -> Iterator[str]:
    """The base URL of a server that answers every request so; a redirect leads back to itself."""

    def answer(asked: Asked) -> Answer:
        redirect = {"location": asked.path} if status == 308 else {}
        return status, {"content-type": kind} | redirect, body.encode()

    with http_server(answer) as (url, _):
        yield f"{url}/v1"


@pytest.mark.parametrize(("status", "kind", "body", "cause"), WRONG)
async def test_moderation_names_what_is_misconfigured(status: int, kind: str, body: str, cause: str) -> None:
    """The cause goes to the log at error and to Sentry, once for any number of events."""
    reported: list[BaseException] = []
    with answering(status, kind, body) as url, capture_logs() as lines:
        async with openai_client.client(url, "key", connections=2) as client:
            watch = Watch("moderation", reported.append)
            moderator = OpenAIModerator(client, model="omni", timeout_s=5, watch=watch)
            for _ in range(2):
                with pytest.raises(EndpointMisconfigured) as caught:
                    await moderator.moderate("hello", ())

    assert caught.value.cause == cause
    assert [(line["event"], line["log_level"], line["cause"]) for line in lines] == [
        ("endpoint_misconfigured", "error", cause)
    ]
    assert [type(error) for error in reported] == [EndpointMisconfigured]


@pytest.mark.parametrize(("status", "kind", "body", "cause"), WRONG)
async def test_a_misconfigured_model_is_asked_once(status: int, kind: str, body: str, cause: str) -> None:
    """It ends as LLM_REJECTED without a retry, and the log names the cause."""
    with answering(status, kind, body) as url, capture_logs() as lines:
        async with openai_client.client(url, "key", connections=2) as client:
            model = OpenAIChat(client, model="m", max_tokens=16)
            with pytest.raises(ModelRejected) as caught:
                await model.complete(PROMPT, 5)

    assert caught.value.kind == "misconfigured"
    assert [(line["endpoint"], line["cause"]) for line in lines] == [("model", cause)]


@pytest.mark.parametrize(
    ("status", "kind", "body", "cause"), [each for each in WRONG if each[2] not in {"[]", '{"status": "ok"}'}]
)
async def test_a_misconfigured_embedder_is_logged(status: int, kind: str, body: str, cause: str) -> None:
    """Searches use words only, which is visible only by this log line."""
    with answering(status, kind, body) as url, capture_logs() as lines:
        async with openai_client.client(url, "key", connections=2) as client:
            with pytest.raises(EmbeddingRejected):
                await OpenAIEmbedder(client, timeout_s=5).embed(["hello"], model="m")

    assert [(line["endpoint"], line["cause"]) for line in lines] == [("embedding", cause)]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, refusal(code="rate_limit_exceeded")),
        (500, refusal()),
        (503, "<h1>Back soon</h1>"),
        (408, "{}"),
        (200, '{"error": {"code": 502, "message": "provider returned error"}}'),
        (200, '{"results": ['),
    ],
)
async def test_an_outage_stays_an_outage(status: int, body: str) -> None:
    """The same call may succeed later, so that the account's failure policy counts."""
    with answering(status, JSON, body) as url, capture_logs() as lines:
        async with openai_client.client(url, "key", connections=2) as client:
            with pytest.raises(ModerationUnavailable):
                await OpenAIModerator(client, model="omni", timeout_s=5).moderate("hello", ())
            with pytest.raises(ModelUnavailable):
                await OpenAIChat(client, model="m", max_tokens=16).complete(PROMPT, 5)

    assert "endpoint_misconfigured" not in {line["event"] for line in lines}


async def test_an_endpoint_that_works_again_is_logged(sandbox: SandboxHandle) -> None:
    """Once, so that the operator sees that the correction took effect."""
    sandbox.add_rule("moderations", "401", times=1)
    async with openai_client.client(sandbox.base_url, "key", connections=2) as client:
        moderator = OpenAIModerator(client, model="omni", timeout_s=5)
        with capture_logs() as lines:
            with pytest.raises(EndpointMisconfigured):
                await moderator.moderate("hello", ())
            await moderator.moderate("hello", ())
            await moderator.moderate("hello", ())

    assert [line["event"] for line in lines] == ["endpoint_misconfigured", "endpoint_usable"]
