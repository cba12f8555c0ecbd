"""The example consumer between real streams and a small channel: each reply once, in order."""

from __future__ import annotations

import dataclasses
import json
import signal
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
from redis import Redis

from examples.channels import slack
from examples.channels.consumer import ESCALATIONS, GIVE_UP_S, REPLIES, RETRACTIONS, Consumer
from examples.channels.recipe import KNOWN_S, Json, Request, Setup
from tests.support.channel_entries import (
    GROUP,
    ID,
    TALK,
    body,
    consuming,
    put,
    put_reply,
    put_retraction,
    waiting,
)
from tests.support.channel_programs import channel_program
from tests.support.fake_channel import FakeChannel
from tests.support.running import PATIENCE_S, eventually


@pytest.fixture
def consumer(redis_url: str, channel: FakeChannel) -> Iterator[Consumer]:
    """A consumer inside the test, for the step by step cases."""
    with consuming(redis_url, channel) as made:
        yield made


def test_a_killed_consumer_sends_nothing_twice_and_loses_nothing(
    valkey: Redis, redis_url: str, channel: FakeChannel
) -> None:
    """SIGKILL after the channel took a reply and before its acknowledgement, three times.

    The channel takes each request, as Slack does: the consumer looks for the reply before it sends it again.
    """
    channel.knows_keys = False
    for number in range(12):
        put_reply(valkey, number)
    for number in (1, 5, 9):
        channel.hold(number)
        with channel_program("consumer", REDIS_URL=redis_url, CHANNEL_URL=channel.url) as process:
            assert channel.held.wait(PATIENCE_S)
            process.kill()
            process.wait()
        channel.release()
    with channel_program("consumer", REDIS_URL=redis_url, CHANNEL_URL=channel.url):
        eventually(lambda: waiting(valkey) == 0, "every reply to be acknowledged")

    assert channel.texts() == [f"reply {number}" for number in range(12)]
    assert [path.split("?")[0] for path, _ in channel.calls].count("/conversations.replies") == 3


def test_entries_that_hushgate_did_not_sign_are_kept_aside(
    valkey: Redis, channel: FakeChannel, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key, a forged, changed or moved entry is never sent; an earlier key may still sign."""
    keys = [bytes([number]) * 32 for number in range(3)]
    monkeypatch.setattr("examples.channels.consumer.KEYS", keys[:2])
    put_reply(valkey, 0, signing_key=keys[0])
    put_reply(valkey, 1)
    put_reply(valkey, 2, signing_key=keys[2])
    put_reply(valkey, 3, signing_key=keys[1])
    good = dict(cast("Any", valkey.xrange(REPLIES))[0][1])
    changed = good | {b"data": good[b"data"].replace(b"reply 0", b"reply 9")}
    other_key = good | {b"key": b"shop/e9"}
    unreadable = good | {b"signature": "\u00e9".encode()}
    for fields in (changed, other_key, unreadable):
        valkey.xadd(REPLIES, cast("Any", fields))
    valkey.xadd(RETRACTIONS, cast("Any", good))
    for _ in range(9):
        consumer.step()

    assert channel.texts() == ["reply 0", "reply 3"]
    refused = [fields for _, fields in cast("Any", valkey.xrange(f"{GROUP}:refused"))]
    assert len(refused) == 6
    assert {fields[b"error"] for fields in refused} == {b"signature: expected one of HUSHGATE_STREAM_KEY"}


def test_a_consumer_ends_after_the_request_under_way(
    valkey: Redis, redis_url: str, channel: FakeChannel
) -> None:
    """After SIGTERM it acknowledges what the channel took, sends no more, and gives its lease back."""
    for number in range(9):
        put_reply(valkey, number)
    channel.hold(3)
    with channel_program("consumer", REDIS_URL=redis_url, CHANNEL_URL=channel.url) as process:
        assert channel.held.wait(PATIENCE_S)
        process.send_signal(signal.SIGTERM)
        channel.release()

        assert process.wait(PATIENCE_S) == 0
    assert (len(channel.calls), len(channel.messages), waiting(valkey)) == (3, 3, 6)
    assert valkey.exists(f"{GROUP}:lease") == 0


def test_a_second_consumer_waits_for_the_first(
    valkey: Redis, consumer: Consumer, channel: FakeChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the one with the lease reads and sends, so that replies keep their order."""
    waits: list[float] = []
    monkeypatch.setattr(consumer, "pause", waits.append)
    valkey.set(f"{GROUP}:lease", "another", px=60_000)
    put_reply(valkey, 1)
    consumer.step()
    consumer.lease.give_back()

    assert (channel.calls, len(waits), valkey.get(f"{GROUP}:lease")) == ([], 1, b"another")


def test_a_repeated_entry_is_sent_once(valkey: Redis, consumer: Consumer, channel: FakeChannel) -> None:
    """By its key: even a channel that knows no keys gets one message."""
    put_reply(valkey, 1)
    put_reply(valkey, 1)
    consumer.step()
    consumer.step()

    assert (len(channel.calls), waiting(valkey)) == (1, 0)


def test_a_retraction_removes_the_message(valkey: Redis, consumer: Consumer, channel: FakeChannel) -> None:
    """By the id that the channel gave to it; again when it is repeated, which changes nothing."""
    put_reply(valkey, 1)
    consumer.step()
    (stamp,) = channel.messages
    put_retraction(valkey, 1)
    consumer.step()

    assert (channel.deleted, waiting(valkey, RETRACTIONS)) == ([stamp], 0)
    assert valkey.get(f"{GROUP}:sent:{stamp}") == b"shop/e1"


def test_a_message_that_is_gone_need_not_be_removed(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """Whether the channel says so by status or in the body."""
    for number, failure in enumerate([(404, {}), (200, {"ok": False, "error": "message_not_found"})]):
        put_reply(valkey, number)
        consumer.step()
        channel.failures.append(failure)
        put_retraction(valkey, number)
        consumer.step()

    assert (waiting(valkey, RETRACTIONS), valkey.exists(f"{GROUP}:refused")) == (0, 0)


def test_a_reply_that_was_taken_back_before_it_was_sent_is_never_sent(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """As after an outage of the consumer, when both wait."""
    put_retraction(valkey, 1)
    consumer.step()
    put_reply(valkey, 1)
    consumer.step()

    assert (channel.calls, waiting(valkey)) == ([], 0)


@pytest.mark.parametrize(
    "failure",
    [(503, {}), (429, {}), (401, {}), (200, {"ok": False, "error": "token_expired"})],
    ids=["down", "busy", "status_401", "token"],
)
def test_a_reply_waits_while_the_channel_takes_none(
    valkey: Redis, consumer: Consumer, channel: FakeChannel, failure: Any
) -> None:
    """It is tried again, before later ones, until the channel takes it."""
    channel.failures += [failure, failure]
    put_reply(valkey, 1)
    put_reply(valkey, 2)
    waits = 0
    for _ in range(4):
        consumer.step()
        waits += len(consumer.next_try)
        consumer.next_try.clear()

    assert (channel.texts(), waiting(valkey), waits) == (["reply 1", "reply 2"], 0, 2)
    assert valkey.exists(f"{GROUP}:refused") == 0


def test_a_reply_that_may_have_been_sent_is_removed_when_it_was_taken_back(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """The first request had no answer, then the retraction came: the consumer looks for the message."""
    put_reply(valkey, 1)
    consumer.step()
    (stamp,) = channel.messages
    valkey.hdel(f"{GROUP}:reply:shop/e1", "sent_id")
    put_retraction(valkey, 1)
    consumer.step()
    assert channel.deleted == []

    put_reply(valkey, 1)
    consumer.step()
    assert (channel.deleted, list(channel.messages)) == ([stamp], [stamp])


def test_a_channel_that_does_not_answer_is_tried_again(
    valkey: Redis, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing listens at its address: the reply stays pending."""
    monkeypatch.setattr(consumer, "url", "http://127.0.0.1:9")
    put_reply(valkey, 1)
    consumer.step()
    consumer.next_try.clear()
    consumer.step()

    assert waiting(valkey) == 1


@pytest.mark.parametrize(
    "failure", [(400, {}), (403, {}), (200, {"ok": False, "error": "channel_not_found"}), (200, {"ok": True})]
)
def test_a_refused_reply_is_kept_aside(
    valkey: Redis, consumer: Consumer, channel: FakeChannel, failure: Any
) -> None:
    """With its error on a stream of its own; the next reply is sent."""
    channel.failures.append(failure)
    put_reply(valkey, 1)
    put_reply(valkey, 2)
    consumer.step()
    consumer.step()
    ((_, fields),) = cast("list[tuple[bytes, dict[bytes, bytes]]]", valkey.xrange(f"{GROUP}:refused"))

    assert (fields[b"key"], channel.texts(), waiting(valkey)) == (b"shop/e1", ["reply 2"], 0)
    assert fields[b"error"]


def test_a_quota_that_is_used_up_keeps_the_reply_until_it_is_sent(
    valkey: Redis, consumer: Consumer, channel: FakeChannel
) -> None:
    """YouTube answers 403; nothing is kept aside, and the order stays."""
    used_up = (403, {"error": {"errors": [{"domain": "youtube.quota", "reason": "quotaExceeded"}]}})
    channel.failures += [used_up, used_up]
    put_reply(valkey, 1)
    put_reply(valkey, 2)
    for _ in range(4):
        consumer.next_try.clear()
        consumer.step()

    assert (channel.texts(), waiting(valkey)) == (["reply 1", "reply 2"], 0)
    assert valkey.exists(f"{GROUP}:refused") == 0


@pytest.mark.parametrize(
    ("data", "aside"),
    [
        (b"{", 1),
        (b"[1]", 0),
        (b'{"user_id": "shop"}', 0),
        (b'{"user_id": "shop", "conversation_id": "slack:../x", "text": "a"}', 1),
        (b'{"user_id": "shop", "conversation_id": "slack:C0SHOP:1.2", "text": ["a"]}', 1),
        (b"\xff", 1),
        (b'{"user_id": "other", "conversation_id": "slack:C0SHOP:1.2", "text": "a"}', 0),
        (b'{"user_id": "shop", "conversation_id": "zendesk:1", "text": "a"}', 0),
    ],
)
def test_an_entry_of_others_or_of_another_form_holds_nothing_up(
    valkey: Redis, consumer: Consumer, channel: FakeChannel, data: bytes, aside: int
) -> None:
    """Entries of other accounts and channels are passed over; what cannot be read is kept aside."""
    valkey.xadd(REPLIES, {"key": "k", "data": data})
    consumer.step()

    assert (channel.calls, waiting(valkey), valkey.xlen(f"{GROUP}:refused")) == ([], 0, aside)


@pytest.mark.parametrize("review_id", [None, ["a"], {"a": 1}])
def test_a_retraction_of_another_form_holds_nothing_up(
    valkey: Redis, consumer: Consumer, review_id: object
) -> None:
    """It is kept aside, like a reply that cannot be read."""
    entry = body(1) | {"review_id": review_id}
    put(valkey, RETRACTIONS, ("key", "k", "data", json.dumps(entry)))
    consumer.step()

    assert (waiting(valkey, RETRACTIONS), valkey.xlen(f"{GROUP}:refused")) == (0, 1)


def test_a_trimmed_entry_holds_nothing_up(valkey: Redis, consumer: Consumer, channel: FakeChannel) -> None:
    """An entry that was deleted while it was pending is acknowledged."""
    put_reply(valkey, 1)
    valkey.xreadgroup(GROUP, "dead", {REPLIES: ">"})
    valkey.xtrim(REPLIES, maxlen=0)
    put_reply(valkey, 2)
    consumer.step()

    assert (channel.texts(), waiting(valkey)) == (["reply 2"], 0)


def test_the_team_learns_of_an_escalation(valkey: Redis, consumer: Consumer, channel: FakeChannel) -> None:
    """In its own place, with the reason and the link; the end of one is no news."""
    entry = body(1) | {"reason": "The author asks for a person.", "link": "https://example.org/decisions/1"}
    for kind in ("opened", "closed"):
        put(valkey, ESCALATIONS, ("data", json.dumps(entry), "ce_id", ID, "ce_type", f"escalation.{kind}.v1"))
    consumer.step()
    consumer.step()

    assert [(each["channel"], each["text"]) for each in channel.messages.values()] == [
        ("C0TEAM", "A person must answer: The author asks for a person. https://example.org/decisions/1")
    ]
    assert waiting(valkey, ESCALATIONS) == 0


def test_a_consumer_survives_an_emptied_redis(valkey: Redis, redis_url: str, channel: FakeChannel) -> None:
    """It makes its groups again and goes on."""
    with channel_program("consumer", REDIS_URL=redis_url, CHANNEL_URL=channel.url):
        eventually(lambda: valkey.exists(REPLIES), "the groups")
        valkey.flushall()
        put_reply(valkey, 1)
        eventually(lambda: channel.texts() == ["reply 1"], "the reply")


def refused(valkey: Redis) -> list[tuple[bytes, bytes]]:
    """Key and stream of the entries that are kept aside."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", valkey.xrange(f"{GROUP}:refused"))
    return [(fields[b"key"], fields[b"stream"]) for _, fields in entries]


def failed_long_ago(valkey: Redis) -> None:
    """Move the first failure of each entry back by the time after which it is given up."""
    for name in valkey.scan_iter(f"{GROUP}:failing:*"):
        valkey.expire(name, KNOWN_S - int(GIVE_UP_S))


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


def test_a_clock_that_is_set_forward_gives_no_entry_up(
    valkey: Redis, consumer: Consumer, channel: FakeChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next try sends the reply."""
    channel.away.add("/chat.postMessage")
    put_reply(valkey, 1)
    consumer.step()
    later = time.time() + 2 * GIVE_UP_S
    monkeypatch.setattr(time, "time", lambda: later)
    for _ in range(2):
        consumer.next_try.clear()
        consumer.step()
        channel.away.clear()

    assert (refused(valkey), channel.texts()) == ([], ["reply 1"])


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
