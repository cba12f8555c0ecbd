"""A repair changes what it names and nothing else, checks again, and sends nothing that was taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from cli.exit_codes import ExitCode
from db import outbox
from db.access_log import LogEntry, LoggedAction
from db.answers.records import EVENT_PREFIX
from db.answers.sending import store_answer
from db.backup.restored import repeat_sends
from db.repair.model import Breach, FoundBreach
from tasks.sending.replies import reply_mark
from tests.support.breaches import MAKERS, endings_missing, reply_sent_unmarked, retry_lost, sent_twice
from tests.support.decided import answer_to
from tests.support.pools import in_pool
from tests.support.repairs import (
    REPLIES,
    STREAM,
    World,
    deliver,
    delivered,
    fixed,
    looked,
    lose,
    mark_of,
    marks,
    new_world,  # noqa: F401  # the fixture ``world``
    record,
    retract,
    subscribe,
)
from tests.support.running import eventually
from worker.model import Decision, DecisionKind, EventType
from worker.reasons import Reason

# --- replies


def test_only_the_named_reply_is_recorded_as_delivered(world: World) -> None:
    """Another reply that was sent stays as it is, and one that is too late is left to the relays."""
    subscribe(world)
    named, other, late = delivered(world), delivered(world), record(world)
    world.sql("UPDATE outbox SET delivered_at = NULL")
    world.sql("DELETE FROM outgoing_events")
    world.sql(
        "UPDATE outbox SET send_before = now() - interval '1 minute' WHERE decision_id = %s", late.decision_id
    )
    done = world.repair("--fix", Breach.REPLY_SENT_UNMARKED, "--yes", "--subject", str(named.decision_id))
    rows = world.sql(
        "SELECT decision_id, delivered_at IS NOT NULL AS sent, cancelled_at, cancel_settled FROM outbox"
        " ORDER BY id"
    )
    webhooks = world.sql("SELECT key FROM outgoing_events WHERE type = 'reply.created'")

    assert [(row["subject"], row["state"]) for row in done.rows] == [(str(named.decision_id), "repaired")]
    assert rows == [
        {
            "decision_id": each.decision_id,
            "sent": each is named,
            "cancelled_at": None,
            "cancel_settled": False,
        }
        for each in (named, other, late)
    ]
    assert [row["key"] for row in webhooks] == [named.event.event_id]
    assert len(world.sql("SELECT 1 FROM messages WHERE role = 'assistant'")) == 3


def test_a_cancelled_reply_that_was_sent_is_retracted(world: World) -> None:
    """A reviewer took it back while the outbox counted it as waiting."""
    delivered(world)
    world.sql(
        "UPDATE outbox SET delivered_at = NULL, cancelled_at = now(),"
        " retraction_id = gen_random_uuid(), retract_from = now()"
    )
    done = world.repair("--fix", Breach.REPLY_SENT_UNMARKED, "--yes")

    assert [row["state"] for row in done.rows] == ["repaired"]
    assert len(world.sql("SELECT 1 FROM outbox WHERE delivered_at IS NOT NULL AND cancelled_at IS NULL")) == 1
    assert len(world.sql("SELECT 1 FROM retractions")) == 1


def test_a_reply_that_is_not_on_the_stream_is_not_recorded_as_delivered(world: World) -> None:
    """Redis lost it between the report and the repair."""
    delivered(world)
    world.sql("UPDATE outbox SET delivered_at = NULL")
    found = asyncio.run(looked(world, Breach.REPLY_SENT_UNMARKED))
    lose(world, REPLIES)

    assert len(found) == 1
    assert asyncio.run(fixed(world, Breach.REPLY_SENT_UNMARKED, found)) == set()
    assert len(world.sql("SELECT 1 FROM outbox WHERE delivered_at IS NULL")) == 1


# --- sums


@pytest.mark.parametrize("words", [(), ("--yes",), ("--subject", STREAM)], ids=" ".join)
def test_a_sum_that_another_breach_changes_is_not_repaired(world: World, words: tuple[str, ...]) -> None:
    """The message says what to do first, not that the other breach would be repaired."""
    endings_missing(world)
    reply_sent_unmarked(world)
    ended = world.repair("--fix", Breach.ENDINGS_MISSING, *words)

    assert ended.code == ExitCode.NEGATIVE
    assert "repair the other breaches first" in ended.err
    assert "would be repaired" not in ended.err
    assert world.sql("SELECT 1 FROM purged WHERE table_name = 'lost'") == []


def test_another_sum_is_not_reported_as_the_named_one(world: World) -> None:
    """Nothing is left to repair first."""
    endings_missing(world)
    ended = world.repair("--fix", Breach.ENTRIES_UNCOUNTED)

    assert (ended.code, ended.rows) == (ExitCode.OK, [])


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


def set_mark(world: World, made: Decision) -> None:
    """As the script of a relay that sends the reply."""
    world.redis.set(f"{{{REPLIES}}}:sent:{mark_of(made)}", str(made.decision_id))


def test_a_reply_that_a_relay_sends_meanwhile_is_not_sent_again(world: World) -> None:
    """Its mark came while the repair waited for the relay."""
    made = delivered(world)
    lose(world, REPLIES)
    found = asyncio.run(looked(world, Breach.REPLY_NOT_ON_STREAM))
    done = fixed_meanwhile(world, Breach.REPLY_NOT_ON_STREAM, found, lambda: set_mark(world, made))

    assert [each.subject for each in found] == [str(made.decision_id)]
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


KIND = Breach.REPLY_NOT_ON_STREAM


def retracted(world: World, made: Decision) -> None:
    """A reviewer took the reply back."""
    retract(world, made)
    deliver(world)


def deleted(world: World, made: Decision) -> None:
    """The author deleted the message, and replies to deleted messages are not retracted."""
    later = replace(made.event, event_id="gone", entry_id="90-0", type=EventType.MESSAGE_DELETED)
    record(
        world,
        event=later,
        decided_at=made.decided_at - timedelta(minutes=1),  # by a worker whose clock is slow
        kind=DecisionKind.IGNORE,
        reason_code=Reason.MESSAGE_DELETED,
        reply=None,
        remember=False,
    )


def flagged_edit(world: World, made: Decision) -> None:
    """A rule flagged an edit of the message, so the exchange left the history."""
    later = replace(made.event, event_id="edit", entry_id="91-0", type=EventType.MESSAGE_EDITED)
    record(
        world,
        event=later,
        kind=DecisionKind.IGNORE,
        reason_code=Reason.FLAGGED_RULE,
        reply=None,
        remember=False,
        quarantine=True,
    )


def too_late(world: World, made: Decision) -> None:
    """Its latest time has passed."""
    world.sql("UPDATE outbox SET send_before = now() - interval '1 minute'")


def overtaken(world: World, made: Decision) -> None:
    """People took the conversation."""
    world.sql(
        "INSERT INTO conversations (user_id, conversation_id, people_until, changed_at, changed_by, cause,"
        " changes) VALUES ('acme', %s, now() + interval '1 hour', now(), 'ann', 'command', 1)",
        made.event.conversation_id,
    )


CHANGES: Mapping[str, Callable[[World, Decision], None]] = {
    each.__name__: each for each in (retracted, deleted, flagged_edit, too_late, overtaken)
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_reply_taken_back_since_is_neither_found_nor_sent(world: World, name: str) -> None:
    """Also when it is named: it was taken back between the report and the repair."""
    made = delivered(world)
    lose(world, REPLIES)
    before = world.repair()
    CHANGES[name](world, made)
    named = FoundBreach(breach=KIND, subject=str(made.decision_id), found="as before", account="acme")

    assert [row["breach"] for row in before.rows] == [KIND]
    assert [row for row in world.repair().rows if row["breach"] == KIND] == []
    assert asyncio.run(fixed(world, KIND, [named])) == set()
    deliver(world)
    assert marks(world, REPLIES) == []
    if name in {"too_late", "overtaken"}:
        assert [row["text"] for row in world.sql("SELECT text FROM messages WHERE role = 'assistant'")]


def test_a_persons_answer_to_a_flagged_message_is_sent_again(world: World) -> None:
    """The flag is that of the answered message, not of a later edit; a flagged edit still counts."""
    made = record(
        world, kind=DecisionKind.IGNORE, reason_code=Reason.FLAGGED_RULE, reply=None, quarantine=True
    )
    answer, now = answer_to(made, "We open at nine.", made.decided_at), made.decided_at
    logged = LogEntry(action=LoggedAction.ANSWER, person="kim")
    in_pool(world.url, lambda source: store_answer(source, answer, now, logged=logged), role=None)
    deliver(world)
    lose(world, REPLIES)
    done = world.repair("--fix", KIND, "--yes")
    deliver(world)
    sent = marks(world, REPLIES)
    lose(world, REPLIES)
    flagged_edit(world, made)

    assert [row["subject"] for row in done.rows] == [str(answer.answer_id)]
    assert sent == [reply_mark("acme", f"{EVENT_PREFIX}{answer.answer_id}")]
    assert [row for row in world.repair().rows if row["breach"] == KIND] == []


@pytest.mark.parametrize("name", CHANGES)
def test_a_restored_database_does_not_send_a_reply_again_that_was_taken_back(world: World, name: str) -> None:
    """Another one whose mark is not in the backup is sent again."""
    made = delivered(world)
    CHANGES[name](world, made)
    lose(world, REPLIES)
    repeat_sends(world.url, datetime.now(UTC) - timedelta(hours=1))
    deliver(world)
    taken_back = marks(world, REPLIES)
    other = delivered(world)
    lose(world, REPLIES)
    repeat_sends(world.url, datetime.now(UTC) - timedelta(hours=1))
    deliver(world)

    assert taken_back == []
    assert marks(world, REPLIES) == [mark_of(other)]
