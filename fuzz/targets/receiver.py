"""The channels' receiver: requests of each channel that sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

import orjson
from redis import Redis

from examples.channels import CHANNELS
from examples.channels.receiver import Receiver
from examples.channels.recipe import Inbound, Setup, SignatureError
from fuzz.target import Target, require
from tasks.publishing.publish import checked
from worker.errors import PayloadRejected

SETUP: Final = Setup(account="shop", own_id="7", people=frozenset({"8"}))
SECRET: Final = "00" * 32
NOW: Final = 1_763_712_000
INBOUND: Final = tuple(each.inbound for each in CHANNELS.values() if each.inbound is not None)
HEADERS: Final = (
    "X-Slack-Request-Timestamp", "X-Slack-Signature", "X-Signature-Timestamp", "X-Signature-Ed25519",
    "X-Chatwoot-Timestamp", "X-Chatwoot-Signature", "X-Telegram-Bot-Api-Secret-Token", "X-Hub-Signature",
    "X-Zendesk-Webhook-Signature", "X-Zendesk-Webhook-Signature-Timestamp",
)  # fmt: skip


class _Unconnected(Receiver):
    """A receiver that checks what it would publish."""

    def publish(
        self,
        events: list[dict[str, Any]],
        presses: list[dict[str, Any]],
        album: str | None = None,  # noqa: ARG002  # of the base
    ) -> None:
        """Each event and press is JSON; an event that no worker can read becomes a dead letter."""
        json.dumps(presses)
        for each in events:
            try:
                checked(json.dumps(each).encode())
            except PayloadRejected as error:
                require(error.code in ("invalid", "not_utf8"), "no event at all", each, error)


@cache
def _receiver(number: int) -> _Unconnected:
    """The receiver of one channel behind its signature."""
    inbound: Inbound = replace(INBOUND[number], check=lambda *_: None)
    client = Redis(port=1)  # never connected
    made = _Unconnected(
        ("127.0.0.1", 0), name="fuzz", inbound=inbound, inbox=SETUP, secret=SECRET, client=client
    )
    made.server_close()  # no one connects to it
    return made


def check_request(data: bytes) -> None:
    """A status and a JSON answer; a signature is right or a SignatureError."""
    number, header, body = data[:1], *data[1:].partition(b"\n")[::2]
    channel = (number[0] if number else 0) % len(INBOUND)
    headers: Mapping[str, str] = dict.fromkeys(HEADERS, header.decode("latin-1"))
    try:
        INBOUND[channel].check(headers, body, SECRET, NOW)
    except SignatureError:
        pass
    else:
        require(False, "a forged signature was accepted", headers)
    status, answer = _receiver(channel).take({}, body)
    require(status in (200, 400), "no declared status", status)
    json.dumps(answer)


def _seed(channel: int, payload: object) -> bytes:
    return bytes([channel]) + b"1763712000\n" + orjson.dumps(payload)


SLACK: Final = {"type": "message", "channel": "C1", "user": "U1", "text": "hi", "ts": "1763712000.000100"}
TARGETS: Final = (
    Target(
        name="receiver",
        about="A request gets a declared status, and what is published is an event or a dead letter.",
        check=check_request,
        words=(
            '"type":', '"event_callback"', '"event":', '"subtype":', '"message_changed"', '"message_deleted"',
            '"previous_message":', '"message":', '"channel":', '"user":', '"ts":', '"challenge":', '"t":',
            '"d":',
            '"MESSAGE_CREATE"', '"MESSAGE_UPDATE"', '"MESSAGE_DELETE"', '"author":', '"id":', '"content":',
            '"topic":', '"conversation.user.replied"', '"data":', '"item":', '"conversation_parts":',
            '"body":',
            '"created_at":', '"zen:event-type:ticket.comment_added"', '"detail":', '"comment":', '"time":',
            '"update_id":', '"chat":', '"from":', '"is_bot":', '"sender":', '"message_type":', '"status":',
            "{", "}", "[", "]", ",", "null", "1e999", "-1", "99999999999999999999", "\\ud800", "<p>",
        ),
        seeds=(
            _seed(0, {"type": "event_callback", "event": SLACK}),
            _seed(0, {"type": "url_verification", "challenge": "x"}),
            _seed(1, {"event": "message_created", "message_type": "incoming", "id": 1, "content": "hi",
                      "created_at": "2026-11-21T10:00:00Z", "sender": {"id": 3}, "conversation": {"id": 2,
                      "status": "pending"}}),
            _seed(2, {"update_id": 1, "message": {"message_id": 1, "date": NOW, "text": "hi", "chat": {
                      "id": 2, "type": "private"}, "from": {"id": 3, "is_bot": False}}}),
            _seed(3, {"t": "MESSAGE_CREATE", "d": {"id": "1", "channel_id": "2", "author": {"id": "3"},
                      "content": "hi", "type": 0, "timestamp": "2026-11-21T10:00:00Z"}}),
            _seed(3, {"type": 2, "id": "1", "channel_id": "2", "member": {"user": {"id": "3"}},
                      "data": {"name": "ask", "options": [{"name": "q", "value": "hi"}]}}),
            _seed(4, {"topic": "conversation.user.replied", "data": {"item": {"id": "1",
            "conversation_parts": {
                      "conversation_parts": [{"id": 2, "body": "<p>hi", "created_at": NOW,
                      "part_type": "comment",
                      "author": {"type": "user", "id": "3"}}]}}}}),
            _seed(5, {"type": "zen:event-type:ticket.comment_added", "time": "2026-11-21T10:00:00Z",
                      "detail": {"id": "1"}, "event": {"comment": {"id": "2", "body": "hi", "is_public": True,
                      "author": {"id": "3", "is_staff": False}}}}),
        ),
    ),
)  # fmt: skip
