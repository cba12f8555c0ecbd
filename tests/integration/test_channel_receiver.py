"""The channel examples with Hushgate itself: messages in, answers out, escalations, signed webhooks."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from redis import Redis

from cli.deployment.loopback import free_address, status
from db.people.api_tokens import TokenScope
from db.pool import create_pool
from sandbox.server import SandboxHandle
from tests.support.channel_programs import ROOT, SLACK_SECRET, channel_program
from tests.support.conversing import HOURS, QUESTION
from tests.support.fake_channel import FakeChannel, fake_channel
from tests.support.node_receiver import CHANNEL_SECRET, NodeReceiver
from tests.support.publishing import on_stream, token
from tests.support.running import PATIENCE_S, Running, eventually, running
from tests.support.webhooks import SECRET, add_endpoint

PAYLOADS: Final = json.loads((ROOT / "tests" / "fixtures" / "channels" / "slack.json").read_text())[
    "payloads"
]


def port(process: subprocess.Popen[bytes]) -> int:
    """Where a receiver listens."""
    assert process.stdout is not None
    return int(process.stdout.readline().split()[-1])


def post(to: int, body: bytes, **headers: str) -> tuple[int, Any]:
    """Send a request as Slack signs it; status and answer."""
    stamp = str(int(time.time()))
    digest = hmac.new(SLACK_SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    signed = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}
    connection = http.client.HTTPConnection("127.0.0.1", to, timeout=PATIENCE_S)
    try:
        connection.request("POST", "/", body, signed | headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")
    finally:
        connection.close()


def slack(to: int, name: str, **event: Any) -> None:
    """Send a recorded payload, written now."""
    payload = PAYLOADS[name]
    stamp = {"event_ts": f"{time.time():.6f}"}
    assert post(to, json.dumps(payload | {"event": payload["event"] | stamp | event}).encode()) == (200, {})


def test_what_is_no_request_of_the_channel_is_refused(redis_url: str) -> None:
    """By its signature, its size and its form; nothing is published, and a later request is served."""
    with Redis.from_url(redis_url) as redis, channel_program("receiver", REDIS_URL=redis_url) as run:
        to = port(run)
        challenge = PAYLOADS["url_verification"]
        refused = [
            post(to, b"{}", **{"X-Slack-Signature": "v0=0"})[0],
            post(to, b"{")[0],
            post(to, b"[1]")[0],
            post(to, b"[" * 200_000)[0],
            post(to, json.dumps(PAYLOADS["message"] | {"event": {"type": "message", "user": "U1"}}).encode())[
                0
            ],
            post(to, b"{}", **{"Content-Length": "1000001"})[0],
            post(to, b"{}", **{"Content-Length": "-1"})[0],
        ]

        assert refused == [401, 400, 400, 400, 400, 413, 413]
        assert post(to, json.dumps(challenge).encode()) == (200, {"challenge": challenge["challenge"]})
        assert post(to, json.dumps(PAYLOADS["own_message"]).encode()) == (200, {})
        assert redis.xlen("hushgate:events") == 0


def test_events_are_acknowledged_only_after_redis_has_them() -> None:
    """While Redis is away the channel is asked to send the request again."""
    with channel_program("receiver", REDIS_URL="redis://127.0.0.1:9") as run:
        assert post(port(run), json.dumps(PAYLOADS["message"]).encode())[0] == 503


def test_an_album_counts_by_its_texts_and_once_without_any(redis_url: str) -> None:
    """A photo behind the question gives the conversation to no person: claudeclaw#58, TelegramBots#1208."""
    recorded = json.loads((ROOT / "tests" / "fixtures" / "channels" / "telegram.json").read_text())[
        "payloads"
    ]
    photo = recorded["photo_without_text"]
    secret = {"X-Telegram-Bot-Api-Secret-Token": SLACK_SECRET}
    place = {"CHANNEL": "telegram", "TOKEN": "7001:AA", "OWN_ID": "corner_shop_bot"}
    sent = [
        (1, "a", "Open?"), (2, "a", None), (1, "a", "Open?"), (3, "a", "On Sunday?"), (4, "b", None),
        (5, "b", None), (4, "b", None), (6, None, None),
    ]  # fmt: skip
    with Redis.from_url(redis_url) as redis, channel_program("receiver", REDIS_URL=redis_url, **place) as run:
        to = port(run)
        for number, album, caption in sent:
            shown = {"message_id": number, "media_group_id": album, "caption": caption}
            message = photo["message"] | {name: value for name, value in shown.items() if value}
            assert post(to, json.dumps(photo | {"message": message}).encode(), **secret) == (200, {})
        published = [json.loads(entry[b"data"])["message_id"] for _, entry in redis.xrange("hushgate:events")]

    assert published == ["1", "1", "3", "4", "4", "6"]


def test_a_message_is_answered_and_taken_back_in_its_thread(
    engine: Running, channel: FakeChannel, redis_url: str
) -> None:
    """Question, reply, its echo, a deletion that takes the reply back, a person who makes the AI silent."""
    account = engine.account(documents=HOURS, retract_deleted=True)
    place = {"ACCOUNT": account, "REDIS_URL": redis_url, "CHANNEL_URL": channel.url}
    with channel_program("receiver", **place) as receiver, channel_program("consumer", **place):
        to = port(receiver)
        slack(to, "message", text="When are you open on weekdays?", ts=f"{time.time():.6f}")
        eventually(lambda: channel.messages, "the reply")
        ((stamp, sent),) = channel.messages.items()
        slack(to, "own_message", text=sent["text"], ts=stamp, thread_ts=sent["thread_ts"])
        asked = sent["thread_ts"]
        slack(to, "deletion", deleted_ts=asked, previous_message={"user": "U0ANN", "ts": asked})
        eventually(lambda: channel.deleted, "the retraction")
        slack(to, "message_of_the_team", thread_ts=sent["thread_ts"], ts=f"{time.time():.6f}")
        slack(to, "message_in_thread", thread_ts=sent["thread_ts"], ts=f"{time.time():.6f}")
        query = "SELECT reason_code FROM ai_decisions WHERE user_id = %s ORDER BY created_at"
        eventually(lambda: len(engine.rows(query, account)) == 4, "four decisions")

    assert "nine to six" in sent["text"]
    assert channel.deleted == [stamp]
    assert [row["reason_code"] for row in engine.rows(query, account)] == [
        "REPLIED",
        "MESSAGE_DELETED",
        "AGENT_MESSAGE",
        "OWNED_BY_PEOPLE",
    ]
    assert len(channel.messages) == 1


def test_an_escalation_is_shown_to_the_team_once(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """With the reason, in the place of the team; its author hears nothing."""
    with running(database_url, redis_url, sandbox) as engine, fake_channel() as channel:
        account = engine.account()
        place = {"ACCOUNT": account, "REDIS_URL": redis_url, "ESCALATION_PLACE": "C0TEAM"}
        with channel_program("consumer", CHANNEL_URL=channel.url, **place):
            decided = engine.decide(account, "I want to speak to a human", conversation_id="slack:C0SHOP:1.2")
            eventually(lambda: channel.messages, "the announcement")
        (note,) = channel.messages.values()

    assert (decided["decision"], note["channel"]) == ("escalate", "C0TEAM")
    assert note["text"].startswith(f"A person must answer: {decided['reason']}")


@contextmanager
def gateway(database_url: str, redis_url: str) -> Iterator[str]:
    """The address of a gateway."""
    url = free_address()
    command = [sys.executable, "-m", "cli", "gateway", "--port", str(urlsplit(url).port)]
    known = os.environ | {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    process = subprocess.Popen(command, env=known, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: process.poll() is not None or status(f"{url}/readyz") == 200, "the gateway")
        yield url
    finally:
        process.kill()
        process.wait()


def test_a_message_of_the_node_receiver_reaches_the_stream(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """By POST /api/v1/events of a gateway; while it is away the channel is asked to repeat."""
    message = {
        "id": "m1",
        "conversation": "c1",
        "author": "ann",
        "text": "When are you open?",
        "at": datetime.now(UTC).isoformat(),
        "from": "team",
    }
    key = token(database_url, TokenScope.PUBLISH)
    with fake_channel() as channel, Redis.from_url(redis_url) as redis:
        with gateway(database_url, redis_url) as url:
            receiver = NodeReceiver(
                channel=channel, journal=tmp_path / "sent.ndjson", hushgate_url=url, token=key
            )
            receiver.start()
            accepted = receiver.signed(message, path="/channel", secret=CHANNEL_SECRET)
        refused = receiver.signed(message, path="/channel", secret=CHANNEL_SECRET)
        receiver.kill()
        (event,) = on_stream(redis)

    assert (accepted, refused) == (204, 503)
    assert (event["user_id"], event["type"], event["message_id"]) == ("shop", "agent_message", "m1")


def test_a_reply_reaches_the_channel_by_webhook(
    database_url: str, redis_url: str, sandbox: SandboxHandle, tmp_path: Path
) -> None:
    """Once, in the conversation of the question."""
    loopback = {"HUSHGATE_WEBHOOK_LOOPBACK": "true"}
    with running(database_url, redis_url, sandbox, **loopback) as engine, fake_channel() as channel:
        receiver = NodeReceiver(channel=channel, journal=tmp_path / "sent.ndjson", secret=SECRET)
        receiver.start()
        account = engine.account(documents=HOURS)
        asyncio.run(subscribe(database_url, account, f"http://127.0.0.1:{receiver.port}/hushgate"))
        event_id = engine.publish(account, QUESTION, conversation_id="talk")
        eventually(lambda: channel.messages, "the reply")
        delivered = "SELECT state FROM webhook_deliveries"
        eventually(lambda: engine.rows(delivered)[0]["state"] == "succeeded", "its acknowledgement")
        receiver.kill()

    assert channel.calls == [("/messages", f"{account}/{event_id}")]
    assert [each["conversation"] for each in channel.messages.values()] == ["talk"]


async def subscribe(database_url: str, account: str, url: str) -> None:
    """An endpoint of the account for its replies."""
    async with create_pool(database_url, size=1, application="test", role=None) as source:
        await add_endpoint(source, account, url, "reply.created", "reply.retracted")
