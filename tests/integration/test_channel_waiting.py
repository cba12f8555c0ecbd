"""What the example consumer does while the channel fails, and when it loses its lease."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
from redis import Redis

from examples.channels import slack
from examples.channels.consumer import GIVE_UP_S, REPLIES, RETRACTIONS, Consumer
from examples.channels.recipe import Json, Request, Setup
from tests.support.channel_entries import GROUP, ID, TALK, consuming, put_reply, put_retraction, waiting
from tests.support.fake_channel import FakeChannel


@pytest.fixture
def consumer(redis_url: str, channel: FakeChannel) -> Iterator[Consumer]:
    """A consumer inside the test, for the step by step cases."""
    with consuming(redis_url, channel) as made:
        yield made


def refused(valkey: Redis) -> list[tuple[bytes, bytes]]:
    """Key and stream of the entries that are kept aside."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", valkey.xrange(f"{GROUP}:refused"))
    return [(fields[b"key"], fields[b"stream"]) for _, fields in entries]


def failed_long_ago(valkey: Redis) -> None:
    """Move the first failure of each entry back by the time after which it is given up."""
    for name in valkey.scan_iter(f"{GROUP}:failing:*"):
        valkey.set(name, time.time() - GIVE_UP_S)


def test_an_entry_that_fails_holds_up_its_own_stream_only(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """Replies are sent while a retraction fails and waits for its next try."""
    put_reply(valkey, 1)
    consumer.step()
    channel.away.add("/chat.delete")
    put_retraction(valkey, 1)
    for number in range(2, 5):
        put_reply(valkey, number)
        consumer.step()

    assert (channel.texts(), waiting(valkey)) == ([f"reply {number}" for number in range(1, 5)], 0)
    assert waiting(valkey, RETRACTIONS) == 1


def test_an_entry_that_waits_is_not_tried_before_its_time(
    valkey: Redis, consumer: Consumer, channel: FakeChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later entries of its stream wait too, so that replies keep their order."""
    put_reply(valkey, 1)
    put_reply(valkey, 2)
    channel.away.add("/chat.postMessage")
    consumer.step()
    consumer.next_try[REPLIES] += 60
    monkeypatch.setattr("examples.channels.consumer.BLOCK_S", 0.01)
    channel.away.clear()
    consumer.step()

    assert (len(channel.calls), waiting(valkey)) == (1, 2)


def test_an_entry_that_fails_for_long_is_kept_aside(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """The next reply is sent, and the retraction of what may have been sent is kept aside as well."""
    channel.away |= {"/chat.postMessage"}
    put_reply(valkey, 1)
    put_reply(valkey, 2)
    consumer.step()
    assert consumer.marks.is_unknown(TALK)
    failed_long_ago(valkey)
    consumer.next_try.clear()
    consumer.step()
    assert (refused(valkey), waiting(valkey)) == ([(b"shop/e1", REPLIES.encode())], 1)

    channel.away.clear()
    put_retraction(valkey, 1)
    consumer.step()
    assert channel.texts() == ["reply 2"]
    assert refused(valkey)[1:] == [(b"shop/e1", RETRACTIONS.encode())]
    assert list(valkey.scan_iter(f"{GROUP}:failing:*")) == []
    assert not consumer.marks.is_unknown(TALK)


@pytest.mark.parametrize("owner", ["another", None], ids=["taken", "expired"])
def test_nothing_is_sent_once_the_lease_is_lost(
    valkey: Redis, consumer: Consumer, channel: FakeChannel, owner: str | None
) -> None:
    """Another consumer may have sent the reply since; ours reads again when it has the lease."""

    def lose(reply: Json, setup: Setup, key: str) -> Request:
        valkey.set(f"{GROUP}:lease", owner) if owner else valkey.delete(f"{GROUP}:lease")
        return slack.send(reply, setup, key)

    consumer.channel = dataclasses.replace(slack.RECIPE, send=lose)
    put_reply(valkey, 1)
    consumer.step()
    assert (channel.calls, waiting(valkey), valkey.exists(f"{GROUP}:refused")) == ([], 1, 0)

    consumer.channel = slack.RECIPE
    valkey.delete(f"{GROUP}:lease")
    consumer.step()
    assert (channel.texts(), waiting(valkey)) == (["reply 1"], 0)


def test_the_lease_is_renewed_before_each_request(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """A lookup, a reply and a removal of one entry may each take as long as a request may."""
    left: list[int] = []
    answer = channel.take

    def take(path: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
        left.append(valkey.pttl(f"{GROUP}:lease"))
        valkey.pexpire(f"{GROUP}:lease", 5_000)
        return answer(path, key, body)

    channel.take = take  # type: ignore[method-assign]
    consumer.marks.begin("shop/e1", TALK)
    put_reply(valkey, 1)
    consumer.step()

    assert [path.partition("?")[0] for path, _ in channel.calls] == [
        "/conversations.replies",
        "/chat.postMessage",
    ]
    assert min(left) > 20_000


def test_an_entry_nested_beyond_reading_is_kept_aside(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """It ends neither the consumer nor the stream."""
    valkey.xadd(REPLIES, {"key": ID, "data": "[" * 200_000})
    put_reply(valkey, 1)
    consumer.step()
    consumer.step()

    assert (refused(valkey), channel.texts()) == ([(ID.encode(), REPLIES.encode())], ["reply 1"])
