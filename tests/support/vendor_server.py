"""The APIs of Chatwoot, Telegram and Slack on loopback, with their refusals and faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Final

BOT_TOKEN: Final = "bot-token-1f4"
PERSON_TOKEN: Final = "person-token-9c2"
TELEGRAM_TOKEN: Final = "7001:AAH-invented_token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that the vendor got."""

    method: str
    path: str
    token: str
    body: dict[str, Any]


class VendorServer(ThreadingHTTPServer):
    """The server and what it was asked.

    Attributes:
        asked: every request that the vendor took, in order.
        faults: status and body of the next answers; the request is not taken.
        breaks: how many of the next requests are taken and get no answer, as in a crash.
        messages: what was sent, with its id in the vendor's fields.
        updates: Slack's changed messages by their time stamp.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), VendorHandler)
        self.asked: list[Asked] = []
        self.faults: list[tuple[int, dict[str, Any]]] = []
        self.breaks = 0
        self.messages: list[dict[str, Any]] = []
        self.updates: dict[str, dict[str, Any]] = {}
        self.ids = count(9100)

    def url(self, channel: str) -> str:
        """The address of a channel's API."""
        paths = {"chatwoot": "/api/v1/accounts/1", "telegram": "/bot{token}", "slack": "/slack"}
        return f"http://127.0.0.1:{self.server_port}{paths[channel]}"

    def notices(self) -> list[str]:
        """The messages of Slack that only one person sees, in order."""
        return [
            each.body["blocks"][0]["text"]["text"]
            for each in self.asked
            if each.path == "/slack/chat.postEphemeral"
        ]

    def texts(self) -> list[str]:
        """What customers see, in order."""
        return [each["content"] for each in self.messages if not each.get("private")]

    def answer(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        """Do what a request asks for; status and body."""
        if asked.path.startswith("/bot"):
            return self._telegram(asked)
        if asked.path.startswith("/slack"):
            return 200, self._slack(asked.path.removeprefix("/slack/"), asked.body)
        return self._chatwoot(asked)

    def _chatwoot(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        if asked.token not in (BOT_TOKEN, PERSON_TOKEN):
            return 401, {"error": "Invalid Access Token"}
        writes = asked.method == "POST" and asked.path.endswith(("/messages", "/toggle_status"))
        if asked.token == BOT_TOKEN and not writes:
            return 401, {"error": "Access to this endpoint is not authorized for bots"}
        if asked.method == "GET":
            return 200, {"meta": {}, "payload": self.messages}
        if asked.path.endswith("/messages"):
            sender = {"id": 3, "type": "agent_bot"}
            self.messages.append({"id": next(self.ids), **asked.body, "message_type": 1, "sender": sender})
            return 200, self.messages[-1]
        return 200, {}

    def _telegram(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        token, _, method = asked.path.removeprefix("/bot").partition("/")
        if token != TELEGRAM_TOKEN:
            return 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
        if method == "deleteMessage":
            return 200, {"ok": True, "result": True}
        self.messages.append({"id": next(self.ids), "content": asked.body["text"], **asked.body})
        return 200, {"ok": True, "result": {"message_id": self.messages[-1]["id"]}}

    def _slack(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        if method.startswith("conversations."):
            return {"ok": True, "messages": self.messages}
        if method == "views.open" and body["trigger_id"] == "expired":
            return {"ok": False, "error": "expired_trigger_id"}
        if method == "chat.update":
            self.updates[body["ts"]] = body
        if method == "chat.postMessage":
            stamp = f"1795262490.{next(self.ids):06}"
            self.messages.append({"ts": stamp, "content": body["text"], **body})
            return {"ok": True, "ts": stamp, "channel": body["channel"]}
        return {"ok": True}


class VendorHandler(BaseHTTPRequestHandler):
    """One connection."""

    server: VendorServer

    def do_GET(self) -> None:
        """Take a request."""
        self.do_POST()

    def do_DELETE(self) -> None:
        """Take a request."""
        self.do_POST()

    def do_POST(self) -> None:
        """Take a request and answer, unless a fault is planned."""
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else {}
        token = self.headers.get("api_access_token", "")
        asked = Asked(method=self.command, path=self.path, token=token, body=body)
        if self.server.faults:
            status, answer = self.server.faults.pop(0)
        else:
            self.server.asked.append(asked)
            status, answer = self.server.answer(asked)
        if self.server.breaks:
            self.server.breaks -= 1
            self.close_connection = True
            return
        content = json.dumps(answer).encode()
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def vendor_server() -> Iterator[VendorServer]:
    """A running vendor."""
    with VendorServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
