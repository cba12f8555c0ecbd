"""A small channel on loopback: it takes a message once by its idempotency key, and can be slow or away.

It has the requests of Slack, and those of ``examples/channels/consumer.mjs``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.support.http_server import Answer, Asked, http_server, json_answer
from tests.support.running import PATIENCE_S


class FakeChannel:
    """The channel and what it was asked.

    Attributes:
        url: what stands for https://slack.com/api.
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

    def __init__(self) -> None:
        self.url = ""
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

    def answer(self, request: Asked) -> Answer:
        """Take a request; answer when the test wants it."""
        key, status = request.headers["idempotency-key"], 200
        self.calls.append((request.path, key))
        if self.failures:
            status, found = self.failures.pop(0)
        elif request.path in self.away:
            status, found = 503, {}
        else:
            found = self.take(request.path, key, request.json if request.body else {})
        if self.hold_at and len(self.messages) >= self.hold_at:
            self.held.set()
            self.answering.wait(PATIENCE_S)
        status, fields, content = json_answer(found, status)
        return status, {**fields, "Retry-After": "0"}, content

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


@contextmanager
def fake_channel() -> Iterator[FakeChannel]:
    """A running fake channel."""
    channel = FakeChannel()
    with http_server(channel.answer) as (channel.url, _):
        try:
            yield channel
        finally:
            channel.release()
