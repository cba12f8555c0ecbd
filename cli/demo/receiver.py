"""The demo's receiver of webhooks: a server on loopback that checks signatures and keeps what it got."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from worker.webhooks.signing import signed_headers


@dataclass(slots=True)
class Receiver:
    """What arrived.

    Attributes:
        secret: signs every event.
        events: ``webhook-id`` -> body.
        requests: how many came with a right signature.
        refused: how many came without.
    """

    secret: str
    url: str = ""
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: int = 0
    refused: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of_type(self, name: str) -> list[dict[str, Any]]:
        """The field ``data`` of the events of a type."""
        with self.lock:
            return [event["data"] for event in self.events.values() if event["type"] == name]

    def take(self, headers: dict[str, str], body: bytes) -> bool:
        """Keep an event; False when its signature is wrong."""
        identifier = headers.get("webhook-id", "")
        stamp = headers.get("webhook-timestamp", "")
        right = stamp.isdecimal() and headers.get("webhook-signature") in _signatures(
            body, identifier, self.secret, datetime.fromtimestamp(int(stamp), UTC)
        )
        with self.lock:
            if right:
                self.requests += 1
                self.events[identifier] = orjson.loads(body)
            else:
                self.refused += 1
        return right


def _signatures(body: bytes, identifier: str, secret: str, at: datetime) -> tuple[str, ...]:
    headers = signed_headers(body, identifier=identifier, secrets=[secret], now=at)
    return (headers["webhook-signature"],)


@contextmanager
def receiver(secret: str) -> Iterator[Receiver]:
    """A receiver that listens while the context lasts."""
    found = Receiver(secret=secret)

    class Handler(BaseHTTPRequestHandler):
        """Answers 204 to a right signature and 401 to another."""

        def do_POST(self) -> None:  # as http.server calls it
            """Take one event."""
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            right = found.take({name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(204 if right else 401)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing: the demo reports what arrived."""

    with serving(Handler) as address:
        found.url = f"{address}/hushgate"
        yield found


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on a free port of loopback while the context lasts; its address without a path."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
