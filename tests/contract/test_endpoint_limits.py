"""What a model server cannot do to a worker: fill its memory, or send its prompts elsewhere."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from worker.adapters import openai_client, openai_http
from worker.adapters.api_errors import ApiStatusError
from worker.adapters.vendor_failures import failure

Answer = tuple[int, dict[str, str], bytes]
OK: Answer = (200, {"content-type": "application/json"}, b'{"results": []}')


@contextmanager
def answering(answer: Callable[[str], Answer]) -> Iterator[tuple[str, list[str]]]:
    """A server, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            asked.append(self.path)
            status, headers, data = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

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


@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_larger_than_any_of_this_api_is_refused(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed, it is small on the wire; it is not read to its end."""
    monkeypatch.setattr(openai_http, "MOST_ANSWER_BYTES", 1_000_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    bomb = gzip.compress(b" " * 20_000_000)
    with answering(lambda _: (status, headers, bomb)) as (url, _):
        async with openai_client.client(url, "key", connections=1) as client:
            with pytest.raises(ValueError, match="expected at most 1000000 bytes") as caught:
                await client.post("/moderations", {})

    known = failure(caught.value)
    assert known is not None
    assert known.kind == "malformed"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_other_origin_gets_a_prompt(status: int) -> None:
    """The redirect is an error of the deployment's address."""
    with (
        answering(lambda _: OK) as (elsewhere, reached),
        answering(lambda _: (status, {"location": f"{elsewhere}/take"}, b"")) as (url, _),
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

    def moved(path: str) -> Answer:
        return OK if path == "/v2/moderations" else (status, {"location": "/v2/moderations"}, b"")

    with answering(moved) as (url, asked):
        async with openai_client.client(f"{url}/v1", "key", connections=1) as client:
            answer = await client.post("/moderations", {})

    assert answer.content == OK[2]
    assert asked == ["/v1/moderations", "/v2/moderations"]
