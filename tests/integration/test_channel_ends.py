"""The channel examples against what Hushgate itself sends and takes: escalations, and events over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from redis import Redis

from cli.deployment.loopback import free_address, status
from db.people.api_tokens import TokenScope
from sandbox.server import SandboxHandle
from tests.support.channel_programs import channel_program
from tests.support.fake_channel import fake_channel
from tests.support.node_receiver import CHANNEL_SECRET, NodeReceiver
from tests.support.publishing import on_stream, token
from tests.support.running import eventually, running


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
