"""Our own POST against that of the SDK: the same requests, the same errors."""

from __future__ import annotations

import asyncio
import ssl
import tracemalloc
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from cli.doctor.endpoints import Endpoint, endpoint_check
from tests.contract.test_misconfigured import HTML, JSON, answering, refusal
from tests.support.http_server import http_server, json_answer
from worker.adapters import openai_client
from worker.adapters.api_errors import ApiConnectionError, ApiError, ApiStatusError
from worker.adapters.http_environment import environment_proxy
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_http import ApiClient
from worker.adapters.vendor_failures import VendorFailure, failure
from worker.errors import EmbeddingRejected

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


async def test_a_request_is_what_the_sdk_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Path, body, key, organisation and extra headers of the environment; not the name of the client."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: moderation")
    body = {"model": "omni", "input": ["größer", "二"]}
    with http_server(lambda _: json_answer({"results": []})) as (url, asked):
        async with openai_client.client(f"{url}/v1/", "key", connections=2) as client:
            await sdk_post(client.base_url, body)
            await client.post("/moderations", body)

    expected, found = asked
    named = {"authorization", "content-type", "accept", "openai-organization", "x-team"}
    assert found.path == expected.path == "/v1/moderations"
    assert found.json == expected.json == body
    assert {name: found.headers[name] for name in named} == {name: expected.headers[name] for name in named}
    assert found.headers["authorization"] == "Bearer key"


async def test_secrets_beside_the_key_are_masked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of a gateway in a further header or in the address, where a server quotes the request."""
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Gateway-Key: Bearer gw-5b1d4c0f9a2e7788\nX-Team: moderation"
    )
    with http_server(lambda asked: json_answer({"error": f"{asked.path} {dict(asked.headers)}"}, 401)) as (
        url,
        _,
    ):
        address = f"{url}/v1?api-version=2025-04-01-preview&key=aq-77f0e2c4b6a81935"
        async with openai_client.client(address, "key-1f4c8a2b90d7", connections=2) as client:
            embedder = OpenAIEmbedder(client, timeout_s=5.0)
            with pytest.raises(ApiStatusError) as caught:
                await client.post("/moderations", {})
            with pytest.raises(EmbeddingRejected) as refused:
                await embedder.embed(["text"], model="m")

    said, stored = str(caught.value), str(refused.value)
    assert not [part for part in ("5b1d4c0f", "77f0e2c4", "1f4c8a2b") if part in said + stored]
    assert "api-version=2025-04-01-preview" in stored
    assert "moderation" in said


@asynccontextmanager
async def sending(answer: bytes, certificate: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server that sends these bytes to every request."""

    async def serve(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=certificate)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def failed(url: str) -> VendorFailure:
    """What a call means that gives no answer."""
    async with openai_client.client(url, "key-1f4c8a2b90d7", connections=2) as client:
        with pytest.raises(ApiError) as caught:
            await client.post("/moderations", {})
    known = failure(caught.value)
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "payload is not completed"),
        (b"", "Server disconnected"),
        (b"SSH-2.0 key-1f4c8a2b90d7\r\n", "ClientResponseError"),
    ],
)
async def test_a_connection_that_fails_says_why(answer: bytes, words: str) -> None:
    """Without what the server sent."""
    async with sending(answer) as port:
        known = await failed(f"http://127.0.0.1:{port}/v1")

    assert known.kind == "connection"
    assert words in known.message
    assert "1f4c8a2b" not in known.message


def self_signed(folder: Path) -> Path:
    """A file with a key and a certificate that no one trusts."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "server.pem"
    path.write_bytes(pem + certificate)
    return path


async def test_a_certificate_and_a_name_that_are_wrong_are_named(tmp_path: Path) -> None:
    """A proxy that reads TLS, or a typing error, looks like a server that is away otherwise."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    async with sending(b"", context) as port:
        certificate = await failed(f"https://127.0.0.1:{port}/v1")
    name = await failed("http://no-such-host.invalid/v1")

    assert "certificate verify failed: self-signed certificate; SSL_CERT_FILE names" in certificate.message
    assert "no-such-host.invalid" in name.message


@pytest.mark.parametrize(
    ("status", "kind", "cause"), [(407, "misconfigured", "key"), (503, "server_error", "")]
)
async def test_a_refusal_of_the_proxy_has_its_status(
    monkeypatch: pytest.MonkeyPatch, status: int, kind: str, cause: str
) -> None:
    """The address of the proxy may have no scheme, as for curl."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with sending(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{port}")
        known = await failed("https://upstream.example/v1")

    assert (known.status, known.kind, known.cause) == (status, kind, cause)


async def test_a_socks_proxy_is_named_and_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable, what it takes and what it has, without the password; aiohttp would speak HTTP to it."""
    for name in ("NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with sending(b"") as port:
        monkeypatch.setenv("ALL_PROXY", f"socks5://name:pa55@127.0.0.1:{port}")
        known = await failed("https://upstream.example/v1")
        endpoint = Endpoint(
            check="c", variable="V", url="https://upstream.example/v1", key_variable="K", key="k", models=(),
            meanwhile="m",
        )  # fmt: skip
        line = await asyncio.to_thread(endpoint_check, endpoint)

    said = f"ALL_PROXY: expected http://HOST:PORT of an HTTP proxy, got socks5://127.0.0.1:{port};"
    assert (known.kind, known.cause) == ("misconfigured", "proxy")
    assert said in known.message
    assert (line.state, said in line.found) == ("fail", True)


async def test_a_long_header_loses_no_answer() -> None:
    """Gateways add policies of security to each answer."""
    long = {"content-security-policy": "a" * 20_000, "content-type": JSON}
    with http_server(lambda _: (200, long, b"{}")) as (url, _):
        async with openai_client.client(url, "key", connections=1) as client:
            answered = await client.post("/chat/completions", {})

    assert answered.content == b"{}"


async def test_the_query_of_a_base_url_stands_behind_the_path() -> None:
    """Such as the version of Azure's API."""
    with http_server(lambda _: json_answer({"results": []})) as (url, asked):
        async with openai_client.client(
            f"{url}/deployments/d/?api-version=1", "key", connections=2
        ) as client:
            await client.post("/moderations", {})

    assert [each.path for each in asked] == ["/deployments/d/moderations?api-version=1"]


async def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the SDK does; loopback and an address in NO_PROXY are called directly."""
    monkeypatch.setenv("NO_PROXY", "direct.example")
    with http_server(lambda _: json_answer({"results": []})) as (url, asked):
        monkeypatch.setenv("HTTP_PROXY", url)
        for base_url in ("http://upstream.example/v1", f"{url}/v1"):
            async with openai_client.client(base_url, "key", connections=2) as client:
                await client.post("/moderations", {})

    assert [each.path for each in asked] == ["http://upstream.example/v1/moderations", "/v1/moderations"]
    assert environment_proxy("http://direct.example/v1") is None


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
