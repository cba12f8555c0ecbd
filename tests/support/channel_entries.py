"""Entries of the outgoing streams for the example consumer, and the consumer itself inside a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from redis import Redis

from examples.channels import slack
from examples.channels.consumer import REPLIES, RETRACTIONS, Consumer, connected
from examples.channels.recipe import Setup
from tasks.sending.entry_types import REPLY, RETRACTION, ReplyEntry, RetractionEntry
from tests.support.fake_channel import FakeChannel
from worker.model import Scope

GROUP: Final = "slack:shop"
TALK: Final = "slack:C0SHOP:1795262400.000100"
AT: Final = "2026-11-21T12:00:00+00:00"
ID: Final = "019ab000-0000-7000-8000-000000000001"


@contextmanager
def consuming(redis_url: str, channel: FakeChannel) -> Iterator[Consumer]:
    """A consumer of a shop's Slack, whose groups exist."""
    setup = Setup(account="shop", own_id="U0BOT", place="C0TEAM")
    with connected(redis_url) as client:
        made = Consumer(client, slack.RECIPE, setup, url=channel.url, token="xoxb-test")
        made.join()
        yield made


def body(number: int, **changes: Any) -> dict[str, Any]:
    """The fields that every entry has."""
    return {
        "event_id": f"e{number}",
        "user_id": "shop",
        "decision_id": ID,
        "conversation_id": TALK,
        "message_id": "1795262400.000100",
        "scope": Scope.CHAT,
        **changes,
    }


def put_reply(redis: Redis, number: int, *, signing_key: bytes | None = None, **changes: Any) -> None:
    """A reply on the stream, as workers put it."""
    entry = ReplyEntry(
        **body(number, **changes), text=f"reply {number}", ai_generated=True, sources=[], created_at=AT
    )
    put(redis, REPLIES, REPLY.entry(entry, mark=ID, at=AT).fields(REPLIES, signing_key))


def put_retraction(redis: Redis, number: int, *, signing_key: bytes | None = None) -> None:
    """The retraction of a reply on its stream."""
    entry = RetractionEntry(**body(number), review_id=ID, retracted_at=AT)
    put(redis, RETRACTIONS, RETRACTION.entry(entry, mark=ID, at=AT).fields(RETRACTIONS, signing_key))


def put(redis: Redis, stream: str, fields: tuple[str | bytes, ...]) -> None:
    """Append an entry."""
    redis.xadd(stream, dict(zip(fields[::2], fields[1::2], strict=True)))


def waiting(redis: Redis, stream: str = REPLIES) -> int:
    """Entries of a stream that the group has not acknowledged."""
    (group,) = [each for each in redis.xinfo_groups(stream) if each["name"] == GROUP.encode()]
    return int(group["pending"]) + int(group["lag"] or 0)
