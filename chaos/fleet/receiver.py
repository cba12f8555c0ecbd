"""The receiver of webhooks: keeps what it took, loses some answers, and hangs while a fault says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Final

import orjson

from chaos.laws.observations import SeenWebhook
from cli.demo.receiver import serving

LOSE_EVERY: Final = 100
HANG_EVERY: Final = 3
"""One request in so many hangs during the fault; the others are answered."""


@dataclass(slots=True)
class Receiver:
    """What arrived.

    Attributes:
        again: requests with an id that had come before.
        hung: requests that hung until the end of a fault, and then had no answer.
    """

    url: str = ""
    taken: dict[str, SeenWebhook] = field(default_factory=dict)
    requests: int = 0
    again: int = 0
    hung: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    answers: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Answer until a fault begins."""
        self.answers.set()

    def hangs(self) -> bool:
        """Wait while the fault lasts, for one request in ``HANG_EVERY``; True when this one did."""
        with self.lock:
            chosen = not self.answers.is_set() and self.requests % HANG_EVERY == 0
            self.hung += chosen
        return chosen and self.answers.wait()

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
            taken = found.take(self.headers.get("webhook-id", ""), body)
            if taken and not found.hangs():
                self.send_response(204)
                self.end_headers()
            else:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with serving(Handler) as address:
        found.url = f"{address}/replies"
        try:
            yield found
        finally:
            found.answers.set()
