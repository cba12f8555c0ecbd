"""Erasures while events are in several shards."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import psycopg
import pytest
from redis import Redis

from compliance.erasure.records import ErasureKind
from tasks.publishing.publish import append
from tasks.shards.agreement import agree, current_layout, double
from tests.support import erasing

STREAM = "hushgate:events"
CONVERSATIONS = tuple(f"c{number}" for number in range(6))


def payload(conversation: str, author: str = "a-17") -> bytes:
    return json.dumps({"user_id": "u", "conversation_id": conversation, "author_id": author}).encode()


def decide(valkey: Redis, key: str, until: str = "+") -> None:
    """Remove the entries of a shard, as workers do once their decisions are stored."""
    rows: Any = valkey.xrange(key, "-", until)
    for entry_id, _ in rows:
        valkey.xdel(key, entry_id)


@pytest.mark.parametrize("doubled", [False, True])
def test_an_erasure_waits_for_the_events_of_all_shards(
    database_url: str, redis_url: str, valkey: Redis, doubled: bool
) -> None:
    """It counts them, waits for earlier events and ends; a doubling before it changes nothing."""
    agree(valkey, STREAM, 2)
    if doubled:
        double(valkey, STREAM)
    append(valkey, [payload(each) for each in CONVERSATIONS])
    append(valkey, [payload("c0", "another")])
    waiting = asyncio.run(erasing.erase(database_url, redis_url, "u", ErasureKind.AUTHOR, "a-17"))
    append(valkey, [payload(each) for each in CONVERSATIONS])  # later: it does not wait for them
    newest = dict(each.split("@")[::-1] for each in (waiting.until_entry or "").split())
    for each in current_layout(valkey, STREAM).streams():
        decide(valkey, each.key, until=newest[each.shard.mark[1:]])
    asyncio.run(erasing.advance(database_url, redis_url))
    ended = asyncio.run(erasing.load(database_url, waiting.id))

    assert waiting.phase == "waiting"
    assert (waiting.preview or {})[STREAM] == len(CONVERSATIONS)
    assert ended.phase == "finished"
    assert (ended.receipt or {})["until_entry"] == waiting.until_entry


@pytest.mark.parametrize(
    ("entry", "newest", "counts"),
    [
        ("5-1", "5-1", True),
        ("5-2", "5-1", False),
        ("10-0", "9-0", False),
        ("5-1@0/2", "4-0@0/2 9-0@1/2", False),
        ("5-1@1/2", "4-0@0/2 9-0@1/2", True),
        ("5-1@1/2", "7-0", True),
        ("5-1", "0-0", False),
        ("5-1@0/2", None, False),
        ("by hand", "9-0", False),
    ],
)
def test_entries_are_compared_within_their_shard(
    database_url: str, entry: str, newest: str | None, counts: bool
) -> None:
    """Ids of different shards say nothing about each other; of a shard that came later every entry counts."""
    with psycopg.connect(database_url) as owner:
        row = owner.execute("SELECT hushgate_entry_until(%s, %s)", (entry, newest)).fetchone()

    assert row == (counts,)
