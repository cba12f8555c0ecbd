"""Takes a channel's requests, checks their signature, and publishes them as events.

    REDIS_URL=redis://localhost:6379/0 CHANNEL=slack ACCOUNT=corner-shop OWN_ID=U0BOT PEOPLE=U0LEE \
        SIGNING_SECRET=... LISTEN=127.0.0.1:8090 python -m channels.receiver

`python -m channels slack` runs it together with the consumer.
It speaks plain HTTP on loopback: put it behind your TLS proxy. The channel gets 200 after Redis has the
events, so what was not published is sent again; Hushgate decides an event id once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs

import redis

from .environment import hushgate, recipe, redis_url, setting, setup
from .hushgate import Away, Hushgate
from .recipe import KNOWN_S, Inbound, Json, PayloadError, Setup, SignatureError

STREAM: Final = os.environ.get("HUSHGATE_STREAM", "hushgate:events")
MOST_BYTES: Final = 1_000_000


class Receiver(ThreadingHTTPServer):
    """The server of one inbox."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        *,
        name: str,
        inbound: Inbound,
        inbox: Setup,
        secret: str,
        client: redis.Redis,
        hushgate: Hushgate | None = None,
    ) -> None:
        super().__init__(address, Handler)
        self.inbound, self.inbox, self.secret, self.redis = inbound, inbox, secret, client
        self.group, self.hushgate = f"{name}:{inbox.account}", hushgate

    def take(self, headers: dict[str, str], body: bytes) -> tuple[int, Json]:
        """Publish what a request says; status and answer."""
        try:
            self.inbound.check(headers, body, self.secret, time.time())
            payload = payload_of(headers, body)
            answer = self.inbound.answer(payload)
            events, presses = self.inbound.events(payload, self.inbox), self.inbound.presses(payload)
            if self.inbound.changes:
                events += filter(self.is_published, self.inbound.changes(payload, self.inbox))
            if self.change_owner(payload):
                self.publish(events, presses, self.inbound.album(payload))
        except SignatureError as error:
            return 401, {"error": str(error)}
        except (ValueError, RecursionError) as error:  # PayloadError is one
            return 400, {"error": str(error)}
        except Away:
            return self.inbound.retry_status, {"error": "Hushgate does not answer now"}
        except redis.RedisError:
            return self.inbound.retry_status, {"error": "Redis does not take events now"}
        return 200, answer

    def change_owner(self, payload: Json) -> bool:
        """Give the conversation to people or to the AI where the channel says so.

        False: people answer in a conversation that Hushgate does not know, so its message is left to them.
        """
        if self.inbound.owner is None or self.hushgate is None:
            return True
        if (asked := self.inbound.owner(payload)) is None:
            return True
        name = f"{self.group}:owner:{asked.conversation}"
        known: Any = self.redis.get(name)
        if known is not None and float(known) > asked.at:
            return True  # a request that was overtaken by a later one
        is_known = self.hushgate.change_owner(self.inbox.account, asked.conversation, asked.change)
        self.redis.set(name, asked.at, ex=KNOWN_S)
        return is_known

    def publish(self, events: list[Json], presses: list[Json], album: str | None = None) -> None:
        """Append all events and presses or none; no photo without text behind another one of its album."""
        pipe = self.redis.pipeline(transaction=True)
        for event in events:
            if album is not None:
                first = f"{self.group}:album:{event['conversation_id']}:{album}"
                self.redis.set(first, event["message_id"], nx=True, ex=KNOWN_S)
                if not event["text"] and self.redis.get(first) != event["message_id"].encode():
                    continue
            pipe.xadd(STREAM, {"data": json.dumps(event)})
            if self.inbound.changes:
                pipe.set(self._published(event), 1, ex=KNOWN_S)
        for press in presses:
            pipe.xadd(f"{self.group}:presses", {"data": json.dumps(press)}, maxlen=1000)
        pipe.execute()

    def is_published(self, event: Json) -> bool:
        """Whether an event of the same message was published before."""
        return bool(self.redis.exists(self._published(event)))

    def _published(self, event: Json) -> str:
        return f"{self.group}:published:{event['conversation_id']}:{event['message_id']}"


def payload_of(headers: Mapping[str, str], body: bytes) -> Json:
    """The object of a request: its body, or the field ``payload`` of a form, as Slack sends buttons.

    Raises:
        ValueError: another form.
    """
    kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if kind.startswith("application/x-www-form-urlencoded"):
        body = (parse_qs(body.decode()).get("payload") or [""])[0].encode()
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise PayloadError("body: expected a JSON object, got another value")
    return payload


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
        body = json.dumps(answer).encode() if answer else b""  # as Slack wants it for a form
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def make_receiver() -> Receiver:
    """The receiver that the environment describes."""
    channel = recipe()
    if channel.inbound is None:
        raise SystemExit("CHANNEL: this channel sends no requests; run python -m channels.poller")
    host, _, port = (listen := os.environ.get("LISTEN", "127.0.0.1:8090")).rpartition(":")
    if not port.isdecimal():
        raise SystemExit(f"LISTEN: expected HOST:PORT, got {listen!r}")
    return Receiver(
        (host, int(port)),
        name=channel.name,
        inbound=channel.inbound,
        inbox=setup(),
        secret=setting("SIGNING_SECRET"),
        client=redis.Redis.from_url(redis_url()),
        hushgate=hushgate(),
    )


def main() -> None:
    """Serve until Ctrl-C."""
    with make_receiver() as server:
        print(f"listening on port {server.server_port}", flush=True)  # noqa: T201
        server.serve_forever()


if __name__ == "__main__":
    main()
