"""Each repair checks again: two repairs at once, and a change between the report and the repair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from db import outbox
from db.repair.model import Breach, FoundBreach
from tests.support.breaches import MAKERS, retry_lost, sent_twice
from tests.support.repairs import (
    REPLIES,
    World,
    deliver,
    delivered,
    fixed,
    looked,
    lose,
    marks,
    new_world,  # noqa: F401  # the fixture ``world``
)
from tests.support.running import eventually

LOCK = outbox.LOCK.replace("pg_try_advisory_xact_lock", "pg_advisory_xact_lock")
WAITS = """
    SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted
"""


@pytest.mark.parametrize("breach", [Breach.ENTRIES_UNCOUNTED, Breach.ENDINGS_MISSING], ids=str)
def test_two_repairs_at_once_count_once(world: World, breach: Breach) -> None:
    """Both operators have the same report; one repair counts, the sums are right and one line is logged."""
    MAKERS[breach](world)
    found = asyncio.run(looked(world, breach))

    async def both() -> list[set[str]]:
        return await asyncio.gather(*(fixed(world, breach, found) for _ in range(2)))

    done = asyncio.run(both())

    assert sorted(map(len, done)) == [0, 1]
    assert world.repair().rows == []
    assert len(world.sql("SELECT 1 FROM access_log WHERE action = 'repair'")) == 1


def fixed_meanwhile(
    world: World, breach: Breach, found: list[FoundBreach], change: Callable[[], object]
) -> set[str]:
    """What a repair changed that waited for a relay, while this change was made."""
    with psycopg.connect(world.url) as relay, ThreadPoolExecutor(1) as threads:
        relay.execute(LOCK)
        repairing = threads.submit(lambda: asyncio.run(fixed(world, breach, found)))
        eventually(lambda: world.sql(WAITS), "the repair waits for the relay")
        change()
        relay.commit()
        return repairing.result()


def set_mark(world: World, decision_id: str) -> None:
    """As the script of a relay that sends the reply."""
    world.redis.set(f"{{{REPLIES}}}:sent:{decision_id}", "1")


def test_a_reply_that_a_relay_sends_meanwhile_is_not_sent_again(world: World) -> None:
    """Its mark came while the repair waited for the relay."""
    made = str(delivered(world).decision_id)
    lose(world, REPLIES)
    found = asyncio.run(looked(world, Breach.REPLY_NOT_ON_STREAM))
    done = fixed_meanwhile(world, Breach.REPLY_NOT_ON_STREAM, found, lambda: set_mark(world, made))

    assert [each.subject for each in found] == [made]
    assert done == set()
    assert world.sql("SELECT 1 FROM outbox WHERE delivered_at IS NULL") == []


def test_the_only_entry_of_a_reply_is_not_deleted(world: World) -> None:
    """The earlier entry was deleted between the report and the repair."""
    (subject,) = sent_twice(world)
    found = asyncio.run(looked(world, Breach.SENT_TWICE))
    entries: Any = world.redis.xrange(REPLIES)
    world.redis.xdel(REPLIES, entries[0][0])
    done = asyncio.run(fixed(world, Breach.SENT_TWICE, found))

    assert [each.subject for each in found] == [subject]
    assert (done, len(marks(world, REPLIES))) == (set(), 1)


def test_a_letter_that_was_published_again_meanwhile_is_not_released(world: World) -> None:
    """A second operator has the old report; the letter's new entry waits, and its record stays."""
    retry_lost(world)
    found = asyncio.run(looked(world, Breach.RETRY_LOST))
    first = asyncio.run(fixed(world, Breach.RETRY_LOST, found))
    published = world.shell.run("dead-letters", "retry", "900-0").rows[0]["published"]
    second = asyncio.run(fixed(world, Breach.RETRY_LOST, found))

    assert (first, second) == ({"900-0"}, set())
    assert [row["retried_as"] for row in world.sql("SELECT retried_as FROM dead_letters")] == [published]


def test_a_reply_whose_mark_may_have_expired_is_not_sent_again(world: World) -> None:
    """Also when it is named."""
    made = str(delivered(world).decision_id)
    lose(world, REPLIES)
    world.sql("UPDATE outbox SET delivered_at = now() - interval '6 days 18 hours'")
    named = FoundBreach(breach=Breach.REPLY_NOT_ON_STREAM, subject=made, found="named", account="acme")
    done = asyncio.run(fixed(world, Breach.REPLY_NOT_ON_STREAM, [named]))
    deliver(world)

    assert (done, marks(world, REPLIES)) == (set(), [])
