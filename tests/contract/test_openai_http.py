"""Our own POST against that of the SDK: the same requests, the same errors."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
import openai
import pytest

from tests.contract.test_misconfigured import HTML, JSON, answering, refusal
from worker.adapters import openai_client
from worker.adapters.api_errors import ApiConnectionError, ApiStatusError
from worker.adapters.openai_http import ApiClient
from worker.adapters.vendor_failures import failure

STATUSES = [
    (400, JSON, refusal(param="input", message="your text, quoted")),
    (400, JSON, '{"message": "flat", "type": "t"}'),
    (401, JSON, refusal(code="invalid_api_key")),
    (403, JSON, refusal()),
    (404, HTML, "<h1>Not found</h1>"),
    (409, JSON, refusal(message=["not a text"])),
    (418, JSON, "[]"),
    (422, JSON, '{"detail": [{"loc": ["body", "input"]}]}'),
    (429, JSON, refusal(type="insufficient_quota", code="insufficient_quota")),
    (500, JSON, "not json"),
    (503, JSON, ""),
    (304, JSON, ""),
]


async def both_errors(client: ApiClient) -> list[Any]:
    """The errors of the SDK's POST and of ours."""
    found: list[Any] = []
    for call in (sdk_post(client.base_url, {}), client.post("/moderations", {})):
        with pytest.raises((openai.APIError, ApiStatusError)) as caught:
            await call
        found.append(caught.value)
    return found


async def sdk_post(base_url: str, body: dict[str, Any]) -> None:
    """The request of the SDK, without its retries."""
    transport = openai.DefaultAioHttpClient()
    async with openai.AsyncOpenAI(
        base_url=base_url, api_key="key", max_retries=0, http_client=transport
    ) as sdk:
        await sdk.post("/moderations", cast_to=httpx2.Response, body=body)


@pytest.mark.parametrize(("status", "kind", "body"), STATUSES)
async def test_a_refusal_says_what_the_sdk_says(status: int, kind: str, body: str) -> None:
    """The status, the message with no more of the answer, and the fields that name the cause."""
    with answering(status, kind, body) as url:
        async with openai_client.client(url, "key", connections=2) as client:
            expected, found = await both_errors(client)

    assert (found.status, str(found), found.body, found.code, found.param, found.type) == (
        expected.status_code,
        str(expected),
        expected.body,
        expected.code,
        expected.param,
        expected.type,
    )


async def test_a_server_that_is_away_is_a_connection_error() -> None:
    """No whole answer came, for whatever reason."""
    async with openai_client.client("http://127.0.0.1:1/v1", "key", connections=2) as client:
        with pytest.raises(ApiConnectionError) as caught:
            await client.post("/moderations", {})

    known = failure(caught.value)
    assert known is not None
    assert (known.kind, known.status) == ("connection", None)


@contextmanager
def recording() -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """A server that answers every POST, and what it was asked: target, headers and body."""
    asked: list[tuple[str, dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("content-type", JSON)
            self.send_header("content-length", "15")
            self.end_headers()
            self.wfile.write(b'{"results": []}')

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


async def test_a_request_is_what_the_sdk_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Path, body, key, organisation and extra headers of the environment; not the name of the client."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: moderation")
    body = {"model": "omni", "input": ["größer", "二"]}
    with recording() as (url, asked):
        async with openai_client.client(f"{url}/v1/", "key", connections=2) as client:
            await sdk_post(client.base_url, body)
            await client.post("/moderations", body)

    (expected_path, expected, expected_body), (path, found, found_body) = asked
    named = {"authorization", "content-type", "accept", "openai-organization", "x-team"}
    assert path == expected_path == "/v1/moderations"
    assert json.loads(found_body) == json.loads(expected_body) == body
    assert {name: found[name] for name in named} == {name: expected[name] for name in named}
    assert found["authorization"] == "Bearer key"


async def test_the_query_of_a_base_url_stands_behind_the_path() -> None:
    """Such as the version of Azure's API."""
    with recording() as (url, asked):
        async with openai_client.client(
            f"{url}/deployments/d/?api-version=1", "key", connections=2
        ) as client:
            await client.post("/moderations", {})

    assert [path for path, *_ in asked] == ["/deployments/d/moderations?api-version=1"]


async def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the SDK does; an address in NO_PROXY is called directly."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with recording() as (url, asked):
        monkeypatch.setenv("HTTP_PROXY", url)
        for base_url in ("http://upstream.example/v1", f"{url}/v1"):
            async with openai_client.client(base_url, "key", connections=2) as client:
                await client.post("/moderations", {})

    assert [target for target, *_ in asked] == ["http://upstream.example/v1/moderations", "/v1/moderations"]


async def test_a_text_that_is_not_unicode_is_refused_before_the_call() -> None:
    """It is malformed, not a bug."""
    async with openai_client.client("http://127.0.0.1:1/v1", "key", connections=2) as client:
        with pytest.raises(ValueError, match="expected JSON values") as caught:
            await client.post("/moderations", {"input": "\ud800"})

    known = failure(caught.value)
    assert known is not None
    assert known.kind == "malformed"


async def test_a_sent_body_is_freed_while_its_answer_is_awaited() -> None:
    """Thousands of events wait for completions at once, each for minutes."""
    text, received, awaited = "x" * 500_000, asyncio.Event(), asyncio.Event()

    async def serve(reader: StreamReader, writer: StreamWriter) -> None:
        while not (await reader.read(65_536)).endswith(b"}"):
            pass
        received.set()
        await awaited.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, openai_client.client(f"http://127.0.0.1:{port}", "key", connections=1) as client:
        tracemalloc.start()
        call = asyncio.create_task(client.post("/chat/completions", {"text": text}))
        await received.wait()
        held_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        awaited.set()
        await call

    assert held_bytes < len(text)
