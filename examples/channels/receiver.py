"""Takes a channel's requests, checks their signature, and publishes them as events.

    REDIS_URL=redis://localhost:6379/0 CHANNEL=slack ACCOUNT=corner-shop OWN_ID=U0BOT PEOPLE=U0LEE \
        SIGNING_SECRET=... LISTEN=127.0.0.1:8090 python -m channels.receiver

It speaks plain HTTP on loopback: put it behind your TLS proxy. The channel gets 200 after Redis has the
events, so what was not published is sent again; Hushgate decides an event id once.
"""

from __future__ import annotations

import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import redis

from .environment import recipe, setting, setup
from .recipe import Inbound, Json, PayloadError, Setup, SignatureError

STREAM: Final = os.environ.get("HUSHGATE_STREAM", "hushgate:events")
MOST_BYTES: Final = 1_000_000


class Receiver(ThreadingHTTPServer):
    """The server of one inbox."""

    def __init__(
        self, address: tuple[str, int], *, inbound: Inbound, inbox: Setup, secret: str, client: redis.Redis
    ) -> None:
        super().__init__(address, Handler)
        self.inbound, self.inbox, self.secret, self.redis = inbound, inbox, secret, client

    def take(self, headers: dict[str, str], body: bytes) -> tuple[int, Json]:
        """Publish what a request says; status and answer."""
        try:
            self.inbound.check(headers, body, self.secret, time.time())
            payload = json.loads(body)
            if not isinstance(payload, dict):
                raise PayloadError("body: expected a JSON object, got another value")
            answer = self.inbound.answer(payload)
            self.publish(self.inbound.events(payload, self.inbox))
        except SignatureError as error:
            return 401, {"error": str(error)}
        except (ValueError, RecursionError) as error:  # PayloadError is one
            return 400, {"error": str(error)}
        except redis.RedisError:
            return 503, {"error": "Redis does not take events now"}
        return 200, answer

    def publish(self, events: list[Json]) -> None:
        """Append all events or none."""
        pipe = self.redis.pipeline(transaction=True)
        for event in events:
            pipe.xadd(STREAM, {"data": json.dumps(event)})
        pipe.execute()


class Handler(BaseHTTPRequestHandler):
    """One connection; a client that is silent for ten seconds is cut off."""

    server: Receiver
    timeout = 10

    def do_POST(self) -> None:
        """Any path."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            status, answer = 413, {"error": f"Content-Length: expected at most {MOST_BYTES}"}
        else:
            status, answer = self.server.take(dict(self.headers.items()), self.rfile.read(int(length)))
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until Ctrl-C."""
    inbound = recipe().inbound
    if inbound is None:
        raise SystemExit("CHANNEL: this channel sends no requests; poll it")
    host, _, port = os.environ.get("LISTEN", "127.0.0.1:8090").rpartition(":")
    client = redis.Redis.from_url(setting("REDIS_URL"))
    address, secret = (host, int(port)), setting("SIGNING_SECRET")
    with Receiver(address, inbound=inbound, inbox=setup(), secret=secret, client=client) as server:
        print(f"listening on port {server.server_port}", flush=True)  # noqa: T201
        server.serve_forever()


if __name__ == "__main__":
    main()
