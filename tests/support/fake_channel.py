"""A small channel on loopback: it takes a message once by its idempotency key, and can be slow or away.

It has the requests of Slack, and those of ``examples/channels/consumer.mjs``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from tests.support.running import PATIENCE_S


class FakeChannel(ThreadingHTTPServer):
    """The server and what it was asked.

    Attributes:
        messages: time stamp → body of every message, in the order of their first request.
        calls: path and idempotency key of every request.
        deleted: time stamps of deleted messages.
        events: events that were published over HTTP.
        knows_keys: whether a repeated request is taken once.
        pages: answers to GET requests, by their path without the query.
        failures: status and body of the next answers; then all is well again.
        away: paths that are answered 503.
        held: set while the request that brought the message number ``hold_at`` gets no answer.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FakeChannelHandler)
        self.messages: dict[str, dict[str, Any]] = {}
        self.by_key: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.deleted: list[str] = []
        self.knows_keys = True
        self.pages: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.failures: list[tuple[int, dict[str, Any]]] = []
        self.away: set[str] = set()
        self.stamps = count(1)
        self.hold_at = 0
        self.held = threading.Event()
        self.answering = threading.Event()

    @property
    def url(self) -> str:
        """What stands for https://slack.com/api."""
        return f"http://127.0.0.1:{self.server_port}"

    def texts(self) -> list[str]:
        """The texts of all messages."""
        return [body["text"] for body in self.messages.values()]

    def hold(self, number: int) -> None:
        """Take the message of this number, and give its request no answer until ``release``."""
        self.answering.clear()
        self.held.clear()
        self.hold_at = number

    def release(self) -> None:
        """Answer the request that is held."""
        self.hold_at = 0
        self.answering.set()

    def take(self, path: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
        """Do what a request asks for; the answer."""
        if found := self.pages.get(path.partition("?")[0]):
            return found
        if path.startswith("/conversations.replies?"):
            return {"ok": True, "messages": [{"ts": stamp, **sent} for stamp, sent in self.messages.items()]}
        if path.startswith("/messages/"):
            self.deleted.append(path.removeprefix("/messages/"))
            return {}
        if path == "/chat.delete":
            self.deleted.append(body["ts"])
            return {"ok": True, "channel": body["channel"], "ts": body["ts"]}
        if path == "/api/v1/events":
            self.events.append(body)
            return {}
        if key not in self.by_key or not self.knows_keys:
            stamp = f"1795262490.{next(self.stamps):06}"
            self.by_key[key], self.messages[stamp] = stamp, body
        return {"ok": True, "ts": self.by_key[key], "id": self.by_key[key]}


class FakeChannelHandler(BaseHTTPRequestHandler):
    """One connection."""

    server: FakeChannel

    def do_GET(self) -> None:
        """Give a page."""
        self.do_POST()

    def do_DELETE(self) -> None:
        """Delete a message."""
        self.do_POST()

    def do_POST(self) -> None:
        """Take a request; answer when the test wants it."""
        key = self.headers["Idempotency-Key"]
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else {}
        self.server.calls.append((self.path, key))
        if self.server.failures:
            status, answer = self.server.failures.pop(0)
        elif self.path in self.server.away:
            status, answer = 503, {}
        else:
            status, answer = 200, self.server.take(self.path, key, body)
        if self.server.hold_at and len(self.server.messages) >= self.server.hold_at:
            self.server.held.set()
            self.server.answering.wait(PATIENCE_S)
        content = json.dumps(answer).encode()
        with suppress(OSError):  # the client was killed
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def fake_channel() -> Iterator[FakeChannel]:
    """A running fake channel."""
    with FakeChannel() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.release()
            server.shutdown()
            thread.join()
