"""The example receiver, alone and with engine and consumer: a message of Slack is answered in its thread."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import subprocess
import time
from typing import Any, Final

from redis import Redis

from tests.support.channel_programs import ROOT, SLACK_SECRET, channel_program
from tests.support.conversing import HOURS
from tests.support.fake_channel import FakeChannel
from tests.support.running import PATIENCE_S, Running, eventually

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
        return answer.status, json.loads(answer.read())
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
