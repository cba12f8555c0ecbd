"""The receiver of webhooks: keeps what it took, and loses the answer to one request in a hundred."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import orjson

from chaos.laws.observations import SeenWebhook

LOSE_EVERY: Final = 100


@dataclass(slots=True)
class Receiver:
    """What arrived; ``again`` counts requests with an id that had come before."""

    url: str = ""
    taken: dict[str, SeenWebhook] = field(default_factory=dict)
    requests: int = 0
    again: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, identifier: str, body: bytes) -> bool:
        """Keep a request; False when its answer is to be lost."""
        data = orjson.loads(body)["data"]
        seen = SeenWebhook(
            identifier=identifier,
            name=data["event_id"],
            conversation=data["conversation_id"],
            handoff=bool(data.get("handoff")),
            decision_id=data["decision_id"],
            text=data["text"],
            last_ms=time.time_ns() // 1_000_000,
        )
        with self.lock:
            is_new = identifier not in self.taken
            self.again += not is_new
            self.requests += 1
            self.taken[identifier] = seen
            return not (is_new and self.requests % LOSE_EVERY == 0)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens while the context lasts."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        """Answers 204, or closes the connection without an answer."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # as http.server calls it
            """Take one event."""
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if found.take(self.headers.get("webhook-id", ""), body):
                self.send_response(204)
                self.end_headers()
            else:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.url = f"http://127.0.0.1:{server.server_port}/replies"
    threading.Thread(target=server.serve_forever, name="receiver", daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
