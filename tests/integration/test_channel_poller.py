"""The example poller: each comment of YouTube is published once, oldest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import pytest
from redis import Redis

from examples.channels.marks import Marks
from examples.channels.poller import Poller
from examples.channels.recipe import Setup
from tests.support.channel_programs import channel_program
from tests.support.fake_channel import FakeChannel, fake_channel
from tests.support.running import eventually

DATA: Final = Path(__file__).parents[1] / "fixtures" / "channels" / "youtube.json"
PAGES: Final = json.loads(DATA.read_text(encoding="utf-8"))["payloads"]
NOW: Final = datetime(2026, 11, 21, 12, 10, tzinfo=UTC)
ANN: Final = "UgzRootCommentOfAnn4AaABAg"


@pytest.fixture
def channel() -> Iterator[FakeChannel]:
    """A small YouTube."""
    with fake_channel() as server:
        server.pages["/commentThreads"] = PAGES["page"]
        yield server


@pytest.fixture
def poller(valkey: Redis, channel: FakeChannel) -> Poller:
    """A poller of the shop's channel."""
    setup = Setup(account="shop", own_id="UCshop", people=frozenset({"UClee"}))
    return Poller(valkey, setup, url=channel.url, token="token")


def published(valkey: Redis) -> list[tuple[str, str]]:
    """Type and message id of every event on the stream."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", valkey.xrange("hushgate:events"))
    events: list[dict[str, Any]] = [json.loads(fields[b"data"]) for _, fields in entries]
    return [(each["type"], each["message_id"]) for each in events]


def test_a_comment_is_published_once(valkey: Redis, poller: Poller, channel: FakeChannel) -> None:
    """However often the page is read; an edit is published when it appears."""
    assert [poller.poll(NOW) for _ in range(3)] == [3, 0, 0]

    channel.pages["/commentThreads"] = PAGES["edited"]
    assert [poller.poll(NOW) for _ in range(2)] == [1, 0]
    assert published(valkey) == [
        ("message", ANN),
        ("message", "UgzRootCommentOfKim4AaABAg"),
        ("message", f"{ANN}.9reply1"),
        ("message_edited", ANN),
    ]


def test_replies_that_a_page_does_not_show_are_read(
    valkey: Redis, poller: Poller, channel: FakeChannel
) -> None:
    """A thread with more replies than are shown is read by itself."""
    page = json.loads(json.dumps(PAGES["edited"]))
    page["items"][0]["snippet"]["totalReplyCount"] = 1
    channel.pages |= {"/commentThreads": page, "/comments": PAGES["replies"]}
    poller.poll(NOW)

    assert ("message", f"{ANN}.9reply2") in published(valkey)


def test_a_comment_stays_known_while_the_channel_shows_it(valkey: Redis, poller: Poller) -> None:
    """Its mark is renewed by each poll."""
    poller.poll(NOW)
    mark = f"youtube:shop:seen:youtube:{ANN}/{ANN}"
    valkey.expire(mark, 60)

    assert poller.poll(NOW) == 0
    assert valkey.ttl(mark) > 60


def test_a_reply_without_an_answer_is_no_event_until_its_id_is_known(
    redis_url: str, valkey: Redis, poller: Poller, channel: FakeChannel
) -> None:
    """The consumer died after the request: the next one finds the comment, which is ours."""
    thread = f"youtube:{ANN}"
    channel.pages |= {"/commentThreads": PAGES["message_of_the_team"], "/comments": {"items": []}}
    with Redis.from_url(redis_url, protocol=2, decode_responses=True) as client:
        marks = Marks(client, "youtube:shop")
        marks.begin("shop/e1", thread)
        poller.poll(NOW)
        assert published(valkey) == [("agent_message", f"{ANN}.9lee")]

        marks.sent("shop/e1", f"{ANN}.9studio")
        marks.end("shop/e1")
        poller.poll(NOW)
        assert len(published(valkey)) == 1

        marks.begin("shop/e2", thread)
        marks.end("shop/e2")
        valkey.delete(f"youtube:shop:sent:{ANN}.9studio")
        poller.poll(NOW)
        assert published(valkey)[1:] == [("agent_message", f"{ANN}.9studio")]


@pytest.mark.parametrize("program", [("poller",), ("__main__", "youtube")])
def test_it_runs_as_it_stands(
    valkey: Redis, redis_url: str, channel: FakeChannel, program: tuple[str, ...]
) -> None:
    """As a process, by its variables; CHANNEL is none of them."""
    environment = {"REDIS_URL": redis_url, "CHANNEL_URL": channel.url, "OWN_ID": "UCshop", "CHANNEL": ""}
    with channel_program(*program, **environment):
        eventually(lambda: len(published(valkey)) == 3, "the comments")


def test_a_comment_that_the_consumer_sent_is_no_event(
    valkey: Redis, poller: Poller, channel: FakeChannel
) -> None:
    """By the id that the consumer noted; other comments of the channel are messages of the team."""
    valkey.set(f"youtube:shop:sent:{ANN}.9sent", "shop/e1")
    channel.pages["/commentThreads"] = PAGES["own_comment"]
    poller.poll(NOW)
    assert published(valkey) == [("message", ANN)]

    channel.pages["/commentThreads"] = PAGES["message_of_the_team"]
    poller.poll(NOW)
    assert published(valkey)[1:] == [("agent_message", f"{ANN}.9studio"), ("agent_message", f"{ANN}.9lee")]
