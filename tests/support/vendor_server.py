"""The APIs of Chatwoot, Telegram and Slack on loopback, with their refusals and faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from tests.support.http_server import Answer, http_server, json_answer
from tests.support.http_server import Asked as HttpRequest

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


class Vendor:
    """The vendor and what it was asked.

    Attributes:
        asked: every request that the vendor took, in order.
        faults: status and body of the next answers; the request is not taken.
        breaks: how many of the next requests are taken and get no answer, as in a crash.
        messages: what was sent, with its id in the vendor's fields.
        updates: Slack's changed messages by their time stamp.
        upgraded: Telegram's groups that became supergroups, with the id of these.
    """

    def __init__(self) -> None:
        self.origin = ""
        self.asked: list[Asked] = []
        self.faults: list[tuple[int, dict[str, Any]]] = []
        self.breaks = 0
        self.messages: list[dict[str, Any]] = []
        self.updates: dict[str, dict[str, Any]] = {}
        self.upgraded: dict[int, int] = {}
        self.ids = count(9100)

    def url(self, channel: str) -> str:
        """The address of a channel's API."""
        paths = {"chatwoot": "/api/v1/accounts/1", "telegram": "/bot{token}", "slack": "/slack"}
        return self.origin + paths[channel]

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

    def take(self, request: HttpRequest) -> Answer | None:
        """Take a request and answer, unless a fault is planned."""
        if self.faults:
            status, answer = self.faults.pop(0)
        else:
            body = request.json if request.body else {}
            token = request.headers.get("api_access_token", "")
            self.asked.append(Asked(method=request.method, path=request.path, token=token, body=body))
            status, answer = self.answer(self.asked[-1])
        if self.breaks:
            self.breaks -= 1
            return None
        return json_answer(answer, status)

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
        if supergroup := self.upgraded.get(asked.body["chat_id"]):
            words = "Bad Request: group chat was upgraded to a supergroup chat"
            moved = {"migrate_to_chat_id": supergroup}
            return 400, {"ok": False, "error_code": 400, "description": words, "parameters": moved}
        self.messages.append({"id": next(self.ids), "content": asked.body["text"], **asked.body})
        chat = {"id": asked.body["chat_id"]}
        return 200, {"ok": True, "result": {"message_id": self.messages[-1]["id"], "chat": chat}}

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


@contextmanager
def vendor_server() -> Iterator[Vendor]:
    """A running vendor."""
    vendor = Vendor()
    with http_server(vendor.take) as (vendor.origin, _):
        yield vendor
