"""What a model server cannot do to a worker: fill its memory, or send its prompts elsewhere."""

from __future__ import annotations

import gzip

import pytest

from tests.support.http_server import Answer, Asked, http_server, json_answer
from worker.adapters import openai_client, openai_http
from worker.adapters.api_errors import ApiStatusError
from worker.adapters.vendor_failures import failure

OK = json_answer({"results": []})


@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_larger_than_any_of_this_api_is_refused(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed, it is small on the wire; it is not read to its end."""
    monkeypatch.setattr(openai_http, "MOST_ANSWER_BYTES", 1_000_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    bomb = gzip.compress(b" " * 20_000_000)
    with http_server(lambda _: (status, headers, bomb)) as (url, _):
        async with openai_client.client(url, "key", connections=1) as client:
            with pytest.raises(ValueError, match="expected at most 1000000 bytes") as caught:
                await client.post("/moderations", {})

    known = failure(caught.value)
    assert known is not None
    assert known.kind == "malformed"


async def test_a_refusal_that_is_nested_deeply_is_a_refusal() -> None:
    """Its readers follow the levels that known errors have."""
    nested = b'{"error": ' * 1000 + b'"busy"' + b"}" * 1000
    with http_server(lambda _: (503, {"content-type": "application/json"}, nested)) as (url, _):
        async with openai_client.client(url, "key-of-the-server", connections=1) as client:
            with pytest.raises(ApiStatusError) as caught:
                await client.post("/moderations", {})

    known = failure(caught.value)
    assert known is not None
    assert known.kind == "server_error"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_other_origin_gets_a_prompt(status: int) -> None:
    """The redirect is an error of the deployment's address."""
    with (
        http_server(lambda _: OK) as (elsewhere, reached),
        http_server(lambda _: (status, {"location": f"{elsewhere}/take"}, b"")) as (url, _),
    ):
        async with openai_client.client(url, "key", connections=1) as client:
            with pytest.raises(ApiStatusError) as caught:
                await client.post("/moderations", {"input": "a prompt"})

    known = failure(caught.value)
    assert known is not None
    assert (known.kind, known.cause, reached) == ("misconfigured", "address", [])


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_on_the_same_origin_is_followed(status: int) -> None:
    """Such as to the path with another version."""

    def moved(asked: Asked) -> Answer:
        return OK if asked.path == "/v2/moderations" else (status, {"location": "/v2/moderations"}, b"")

    with http_server(moved) as (url, asked):
        async with openai_client.client(f"{url}/v1", "key", connections=1) as client:
            answer = await client.post("/moderations", {})

    assert answer.content == OK[2]
    assert [each.path for each in asked] == ["/v1/moderations", "/v2/moderations"]
