"""``hushgate dead-letters``: found by filter, published again once, dropped and counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from redis import Redis

from db import dead_letters
from db.dead_letters import DeadLetter
from tasks.shards.agreement import agree, current_layout, double
from tests.support.pools import in_pool
from tests.support.terminal import Shell
from worker.errors import PayloadFault, PayloadRejected

STREAM = "hushgate:events"
SECRET = "the user wrote this"  # a text
NOW = datetime.now(UTC)
Rows = psycopg.Connection[dict[str, Any]]


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """A client of the empty server."""
    with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def owner(database_url: str) -> Iterator[Rows]:
    """A connection with every right; the letters of the test are gone afterwards."""
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        yield connection
        for table in ("dead_letters", "legal_holds"):
            connection.execute(f"DELETE FROM {table}".encode())


def payload(account: str, conversation: str = "c") -> bytes:
    """A body that names an account."""
    body = {"user_id": account, "conversation_id": conversation, "text": SECRET}
    return json.dumps(body).encode()


def bury(
    url: str,
    entry_id: str,
    raw: bytes,
    code: PayloadFault = PayloadFault.POISON,
    *,
    age: timedelta = timedelta(),
) -> None:
    """Store a dead letter."""
    why = PayloadRejected(code=code, field="text", expected="a text", got=SECRET)
    letter = DeadLetter(entry_id=entry_id, payload=raw, size_bytes=len(raw), why=why, at=NOW - age)
    in_pool(url, lambda source: dead_letters.bury(source, letter))


@pytest.fixture
def three(database_url: str, owner: Rows) -> None:
    """A poisoned event of each of two accounts, the older one in another shard, and a payload of none."""
    bury(database_url, "2-0", payload("acme"))
    bury(database_url, "1-0@1/2", payload("shop"), age=timedelta(days=2))
    bury(database_url, "3-0", b"no json", PayloadFault.NOT_JSON)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["3-0", "2-0", "1-0@1/2"]),
        (("--account", "acme"), ["2-0"]),
        (("--reason", "poison"), ["2-0", "1-0@1/2"]),
        (("--before", "24h"), ["1-0@1/2"]),
        (("--since", "24h"), ["3-0", "2-0"]),
        (("--shard", "1/2"), ["1-0@1/2"]),
    ],
    ids=" ".join,
)
def test_letters_are_found_by_filter(
    shell: Shell, three: None, words: tuple[str, ...], expected: list[str]
) -> None:
    """Newest first."""
    assert [row["entry_id"] for row in shell.run("dead-letters", "list", *words).rows] == expected


@pytest.mark.parametrize("words", [("--reason", "not_jsno"), ("--shard", "x")], ids=" ".join)
def test_a_filter_that_no_letter_can_match_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    """A misspelt filter must not look like an empty list."""
    refused = shell.run("dead-letters", "drop", *words)

    assert (refused.code, words[0] in refused.err) == (2, True)


def test_texts_are_shown_on_request_only_and_their_reading_is_logged(
    shell: Shell, three: None, owner: Rows
) -> None:
    """`got` may quote the payload."""
    hidden = shell.run("dead-letters", "list").out + shell.run("dead-letters", "show", "3-0").out
    shown = shell.run("dead-letters", "show", "2-0", "--texts")
    logged = owner.execute("SELECT user_id, detail FROM access_log WHERE action = 'dead_letter'").fetchall()

    assert SECRET not in hidden.replace(f'"got":"{SECRET}","size_bytes":', "", 2)  # poison: words of Hushgate
    assert json.loads(shown.rows[0]["payload"])["text"] == SECRET
    assert logged == [{"user_id": "acme", "detail": {"what": "dead letters", "entry_id": "2-0"}}]


def test_a_letter_is_published_again_once(shell: Shell, three: None, redis: Redis, owner: Rows) -> None:
    """Oldest first, also when the record of an earlier run was lost, or an entry id is repeated."""
    dry = shell.run("dead-letters", "retry", "--reason", "poison", "--dry-run")
    first = shell.run("dead-letters", "retry", "--reason", "poison")
    again = shell.run("dead-letters", "retry", "--reason", "poison")
    named = shell.run("dead-letters", "retry", "2-0")
    owner.execute("UPDATE dead_letters SET retried_at = NULL, retried_as = NULL WHERE entry_id = '2-0'")
    resumed = shell.run("dead-letters", "retry", "2-0")
    entries: Any = redis.xrange(STREAM)
    made = {row["entry_id"]: row["published"] for row in first.rows}

    assert [row["problem"] for row in dry.rows] == [None, None]
    assert [json.loads(fields["data"])["user_id"] for _, fields in entries] == ["shop", "acme"]
    assert list(made.values()) == [entry_id for entry_id, _ in entries]
    assert (again.code, again.rows, named.code) == (0, [], 5)
    assert (resumed.code, resumed.rows[0]["published"]) == (0, made["2-0"])


def test_a_letter_is_published_once_over_a_doubling(
    shell: Shell, three: None, redis: Redis, owner: Rows
) -> None:
    """The mark of the shard that held the conversation before counts."""
    agree(redis, STREAM, 2)
    first = shell.run("dead-letters", "retry", "2-0").rows[0]["published"]
    owner.execute("UPDATE dead_letters SET retried_at = NULL, retried_as = NULL")
    place, entry_id = current_layout(redis, STREAM).place_of(first)
    redis.xdel(place.key, entry_id)  # it was decided
    double(redis, STREAM)
    again = shell.run("dead-letters", "retry", "2-0").rows[0]["published"]

    assert "@" in first
    assert again == first


def test_a_retry_needs_a_choice(shell: Shell, three: None, redis: Redis) -> None:
    """A forgotten filter publishes nothing, `--all` does; what cannot be published is named."""
    refused = shell.run("dead-letters", "retry")
    before = redis.xlen(STREAM)
    every = shell.run("dead-letters", "retry", "--all")

    assert (refused.code, before) == (2, 0)
    assert (every.code, redis.xlen(STREAM)) == (0, 3)


def test_dropped_letters_are_counted_and_held_ones_stay(shell: Shell, three: None, owner: Rows) -> None:
    """The conservation check knows that they were deleted; each account has its line of the access log."""
    owner.execute(
        "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by, placed_at)"
        " VALUES (gen_random_uuid(), 'acme', 'conversation', 'c', 'case', 'kim', now())"
    )
    dry = shell.run("dead-letters", "drop", "--all", "--dry-run")
    ended = shell.run("dead-letters", "drop", "--all")
    left = [row["entry_id"] for row in owner.execute("SELECT entry_id FROM dead_letters").fetchall()]
    purged = owner.execute("SELECT rows FROM purged WHERE table_name = 'dead_letters'").fetchone()
    logged = owner.execute(
        "SELECT user_id FROM access_log WHERE detail ->> 'change' = 'dropped' ORDER BY 1"
    ).fetchall()

    assert (len(dry.rows), ended.code, left) == (3, 1, ["2-0"])
    assert purged == {"rows": 2}
    assert [row["user_id"] for row in logged] == ["shop", None]
