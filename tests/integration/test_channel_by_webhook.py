"""A question is answered in a channel by a signed webhook of Hushgate and the example for Node."""

from __future__ import annotations

import asyncio
from pathlib import Path

from db.pool import create_pool
from sandbox.server import SandboxHandle
from tests.support.conversing import HOURS, QUESTION
from tests.support.fake_channel import fake_channel
from tests.support.node_receiver import NodeReceiver
from tests.support.running import eventually, running
from tests.support.webhooks import SECRET, add_endpoint


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
