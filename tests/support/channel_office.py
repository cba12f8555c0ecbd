"""An engine, the review pages over its database, a vendor, and the channel programs inside the test."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any, Final

from redis import Redis

from examples.channels import CHANNELS
from examples.channels.consumer import Consumer
from examples.channels.hushgate import TIMEOUT_S, Away, Hushgate, Refused
from examples.channels.receiver import Receiver
from examples.channels.recipe import Json, Setup
from tests.support.conversing import HOURS
from tests.support.reviewing import Visitors
from tests.support.running import Running, eventually
from tests.support.vendor_server import BOT_TOKEN, TELEGRAM_TOKEN, Vendor
from tests.unit.channels.recorded import payload

SECRET: Final = "kBNyXxUhQzWmJ8rKpLdVtA2s"
CHATWOOT, TELEGRAM, SLACK = "chatwoot", "telegram", "slack"


class LocalHushgate(Hushgate):
    """The JSON API of a site inside the test."""

    def __init__(self, visitors: Visitors, token: str) -> None:
        super().__init__("https://127.0.0.1", token)
        self.visitors, self.is_away = visitors, False

    def as_person(self, token: str) -> LocalHushgate:
        """The same site by another token."""
        return LocalHushgate(self.visitors, token)

    def call(self, method: str, path: str, body: Json | None = None, *, timeout_s: float = TIMEOUT_S) -> Json:
        """An answer of the site."""
        if self.is_away:
            raise Away("status 503")
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self.visitors().client.request(method, f"/api/v1/{path}", headers=headers, json=body)
        if answer.status_code >= 400:
            raise Refused(answer.status_code, answer.json())
        found: Json = answer.json()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """An engine, the review pages over its database, and a vendor."""

    engine: Running
    hushgate: LocalHushgate
    vendor: Vendor
    open: list[Receiver] = field(default_factory=list)

    def inbox(self, channel: str, **settings: Any) -> Inbox:
        """A new account with receiver and consumer of a channel."""
        account = self.engine.account(documents=HOURS, **settings)
        setup = Setup(account=account, own_id="corner_shop_bot", place="C0TEAM" if channel == SLACK else "")
        recipe = CHANNELS[channel]
        assert recipe.inbound is not None
        receiver = Receiver(
            ("127.0.0.1", 0),
            name=channel,
            inbound=recipe.inbound,
            inbox=setup,
            secret=SECRET,
            client=Redis.from_url(self.engine.redis_url),
            hushgate=self.hushgate,
        )
        self.open.append(receiver)
        consumer = Consumer(
            Redis.from_url(self.engine.redis_url, protocol=2, decode_responses=True),
            recipe,
            setup,
            url=self.vendor.url(channel),
            token=TELEGRAM_TOKEN if channel == TELEGRAM else BOT_TOKEN,
        )
        consumer.join()
        return Inbox(office=self, account=account, receiver=receiver, consumer=consumer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """One account in one channel."""

    office: Office
    account: str
    receiver: Receiver
    consumer: Consumer

    def chatwoot(self, name: str, **changes: Any) -> int:
        """Send a recorded webhook, written now and signed; the status of the answer."""
        sent = payload(CHATWOOT, name) | changes
        if isinstance(sent.get("created_at"), str):
            sent["created_at"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        body = json.dumps(sent).encode()
        return self.receiver.take(signed(body), body)[0]

    def telegram(self, message: dict[str, Any]) -> int:
        """Send a private message of an update; the status of the answer."""
        sent = payload(TELEGRAM, "message")
        sent["message"] |= {"date": int(time.time()), **message}
        return self.update(sent)

    def update(self, sent: Json) -> int:
        """Send an update of Telegram; the status of the answer."""
        headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
        return self.receiver.take(headers, json.dumps(sent).encode())[0]

    def slack(self, body: bytes, **headers: str) -> int:
        """Send a request as Slack signs it; the status of the answer."""
        stamp = str(int(time.time()))
        digest = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
        names = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}
        return self.receiver.take(names | headers, body)[0]

    def reasons(self, number: int) -> list[str]:
        """The reason codes of the account's first decisions."""
        query = "SELECT reason_code FROM ai_decisions WHERE user_id = %s ORDER BY created_at, id"
        found = eventually(
            lambda: rows if len(rows := self.office.engine.rows(query, self.account)) >= number else None,
            f"{number} decisions",
        )
        return [row["reason_code"] for row in found]

    def send_until(self, number: int) -> list[str]:
        """What customers see once the vendor has so many messages."""
        vendor = self.office.vendor

        eventually(lambda: self.step() and len(vendor.texts()) >= number, f"{number} messages")
        return vendor.texts()

    def step(self) -> bool:
        """Let the consumer handle the next entries at once."""
        self.consumer.next_try.clear()
        self.consumer.step()
        return True

    def owner(self) -> str:
        """Who answers in the conversation of the recorded webhooks."""
        place = f"accounts/{self.account}/conversations/chatwoot:42"
        return str(self.office.hushgate.call("GET", place)["owner"])


def signed(body: bytes, at: float = 0.0) -> dict[str, str]:
    """The headers of Chatwoot."""
    stamp = str(int(at or time.time()))
    digest = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Chatwoot-Timestamp": stamp, "X-Chatwoot-Signature": f"sha256={digest}"}
