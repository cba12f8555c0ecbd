"""An event ends as a decision or as a dead letter, never as both, in whichever order two runs come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, cast

import psycopg
import pytest
from psycopg.rows import dict_row

from db import dead_letters
from db.audit.decision_list import read_connection
from db.commits.commit_sql import KEY, commit_statement
from db.commits.record import record_decision
from db.commits.stored_event import Recorded, look_up_event
from db.commits.values import commit_values
from db.dead_letters import DeadLetter
from db.health import conservation
from db.pool import Pool, create_pool
from sandbox.server import SandboxHandle
from tasks.lanes.received import received_event
from tasks.lanes.stream import EntryGrant
from tasks.retention.sweep import sweep
from tests.support.decided import reply_to
from tests.support.retention import keeping
from tests.support.running import Running, eventually, running
from tests.support.samples import event as sample
from worker.errors import PayloadFault, PayloadRejected
from worker.model import Decision, Event

NUMBERS = count(1)
NOW = datetime.now(UTC)
POISON = PayloadRejected(code=PayloadFault.POISON, field="data", expected="an outcome", got="nothing")
Rows = psycopg.Connection[dict[str, Any]]


@pytest.fixture
async def source(url: str) -> AsyncIterator[Pool]:
    """Connections in the worker's role."""
    async with create_pool(url, size=4, application="test") as opened:
        yield opened


@pytest.fixture
def owner(url: str) -> Iterator[Rows]:
    """A connection with every right."""
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def entry_of(event_id: str) -> Event:
    """A new stream entry of an event."""
    return sample(event_id=event_id, entry_id=f"{next(NUMBERS)}-0")


def decision(event: Event, at: datetime = NOW) -> Decision:
    """An approved reply to an event."""
    return reply_to(event, at)


def letter(event: Event, at: datetime = NOW) -> DeadLetter:
    """The dead letter of an event."""
    return DeadLetter(entry_id=event.entry_id, payload=b"{}", size_bytes=2, why=POISON, at=at, event=event)


def ends(owner: Rows) -> tuple[int, ...]:
    """Decisions, replies, remembered messages, dead letters, duplicates."""
    tables = ("ai_decisions", "outbox", "messages", "dead_letters", "duplicates")
    found = [owner.execute(f"SELECT count(*) AS n FROM {table}".encode()).fetchone() for table in tables]
    return tuple(int(row["n"]) for row in found if row)


async def holds(url: str, *, accepted: int) -> bool:
    """Whether every one of ``accepted`` entries has one end."""
    async with read_connection(url) as connection:
        return (await conservation.load_balance(connection, accepted=accepted, unfinished=0)).holds


async def test_a_buried_event_is_not_decided_afterwards(source: Pool, owner: Rows, url: str) -> None:
    """A frozen worker wakes up after its entry was buried: it changes nothing and sends nothing."""
    event = entry_of("e")
    found = [
        await dead_letters.bury(source, letter(event)),
        await record_decision(source, decision(event)),
        (await look_up_event(source, event, event.received_at)).outcome,
        await dead_letters.bury(source, letter(event)),
    ]

    assert found == [Recorded.BURIED] * 4
    assert ends(owner) == (0, 0, 0, 1, 0)
    assert await holds(url, accepted=1)


async def test_a_decided_event_is_not_buried_afterwards(source: Pool, owner: Rows, url: str) -> None:
    """The decision stands."""
    event = entry_of("e")
    found = [
        await record_decision(source, decision(event)),
        await dead_letters.bury(source, letter(event)),
    ]

    assert found == [Recorded.NEW, Recorded.ALREADY]
    assert ends(owner) == (1, 1, 2, 0, 0)
    assert await holds(url, accepted=1)


async def _waiting(owner: Rows) -> None:
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while True:
        if owner.execute(query).fetchone() is not None:
            return
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("commits", [True, False])
async def test_a_burial_waits_for_a_decision_under_way(
    source: Pool, owner: Rows, url: str, commits: bool
) -> None:
    """The first to take the key decides which end it is; when it takes its word back, the other counts."""
    event = entry_of("e")
    async with source.connection() as rival:
        async with rival.transaction(force_rollback=not commits):
            await rival.execute(commit_statement(decision(event), KEY), commit_values(decision(event)))
            burial = asyncio.create_task(dead_letters.bury(source, letter(event)))
            await _waiting(owner)
        found = await burial

    assert found == (Recorded.ALREADY if commits else Recorded.BURIED)
    assert ends(owner) == ((1, 1, 2, 0, 0) if commits else (0, 0, 0, 1, 0))
    assert await holds(url, accepted=1)


@pytest.mark.parametrize("commits", [True, False])
async def test_a_decision_waits_for_a_burial_under_way(
    source: Pool, owner: Rows, url: str, commits: bool
) -> None:
    """The other way round."""
    event = entry_of("e")
    statement = dead_letters.BURY_EVENT.format(key=dead_letters.KEY)
    values = dead_letters._values(letter(event)) | {"user_id": event.user_id, "event_id": event.event_id}
    async with source.connection() as rival:
        async with rival.transaction(force_rollback=not commits):
            await rival.execute(statement.encode(), values)
            commit = asyncio.create_task(record_decision(source, decision(event)))
            await _waiting(owner)
        found = await commit

    assert found == (Recorded.BURIED if commits else Recorded.NEW)
    assert ends(owner) == ((0, 0, 0, 1, 0) if commits else (1, 1, 2, 0, 0))
    assert await holds(url, accepted=1)


async def test_fifty_races_have_one_end_each(source: Pool, owner: Rows, url: str) -> None:
    """Two runs of one entry at the same moment."""
    events = [entry_of(f"e{number}") for number in range(50)]
    await asyncio.gather(
        *(
            asyncio.gather(
                record_decision(source, decision(event)),
                dead_letters.bury(source, letter(event)),
            )
            for event in events
        )
    )
    decided, replies, _, buried, duplicates = ends(owner)

    assert decided + buried == 50
    assert (replies, duplicates) == (decided, 0)
    assert await holds(url, accepted=50)


async def test_a_buried_event_that_is_sent_again_is_decided(source: Pool, owner: Rows, url: str) -> None:
    """A replay, or its publisher again: the new entry is decided, the buried one stays a dead letter."""
    first = entry_of("e")
    again = replace(first, entry_id=f"{next(NUMBERS)}-0")
    found = [
        await dead_letters.bury(source, letter(first)),
        (await look_up_event(source, again, again.received_at)).outcome,
        await record_decision(source, decision(again)),
        await record_decision(source, decision(first)),
        (await look_up_event(source, first, first.received_at)).outcome,
        await dead_letters.bury(source, letter(first)),
    ]

    assert found == [Recorded.BURIED, None, Recorded.NEW, *[Recorded.BURIED] * 3]
    assert ends(owner) == (1, 1, 2, 1, 0)
    assert await holds(url, accepted=2)


async def test_every_entry_of_a_poisonous_event_is_a_dead_letter(source: Pool, owner: Rows, url: str) -> None:
    """The second takes the key over; neither can be decided afterwards, a third can."""
    entries = [entry_of("e") for _ in range(3)]
    buried = [await dead_letters.bury(source, letter(event)) for event in entries[:2]]
    late = [await record_decision(source, decision(event)) for event in entries]

    assert buried == [Recorded.BURIED] * 2
    assert late == [Recorded.BURIED, Recorded.BURIED, Recorded.NEW]
    assert ends(owner) == (1, 1, 2, 2, 0)
    assert await holds(url, accepted=3)


async def test_a_further_entry_of_a_decided_event_is_a_duplicate_and_no_dead_letter(
    source: Pool, owner: Rows, url: str
) -> None:
    """Handed out too often, but its event has its decision."""
    first, further = entry_of("e"), entry_of("e")
    await record_decision(source, decision(first))
    found = await dead_letters.bury(source, letter(further))

    assert found is Recorded.DUPLICATE
    assert ends(owner) == (1, 1, 2, 0, 1)
    assert await holds(url, accepted=2)


async def test_retention_keeps_the_balance_of_buried_events(source: Pool, owner: Rows, url: str) -> None:
    """A swept key counts with its dead letter, whichever of the two goes first."""
    old = NOW - timedelta(days=40)
    for number in range(3):
        event = entry_of(f"old-{number}")
        await dead_letters.bury(source, letter(event, at=old))
    decided = entry_of("decided")
    await record_decision(source, decision(decided, at=old))
    young = entry_of("young")
    await dead_letters.bury(source, letter(young))
    owner.execute("SELECT hushgate_sweep_rows('dead_letters', now() - interval '1 day', NULL, 9)")
    between = await holds(url, accepted=5)
    gone = await sweep(source, keeping(keys_days=1, dead_letters_days=1), NOW)

    assert between
    assert gone["event_keys"] == 4
    assert await holds(url, accepted=5)


def test_the_worker_cannot_give_a_decided_event_to_another_entry(owner: Rows) -> None:
    """The function that takes a key over has the owner's rights; a decision's key is out of its reach."""
    owner.execute(
        "INSERT INTO event_keys VALUES ('u', 'decided', '1-0', gen_random_uuid(), now()),"
        " ('u', 'buried', '2-0', NULL, now())"
    )
    call = "SELECT hushgate_take_over_key('u', %s, %s, NULL, now()) AS taken"
    owner.execute("SET ROLE hushgate_worker")
    asked = [("decided", "9-0"), ("buried", "2-0"), ("buried", "9-0")]
    taken = [row["taken"] for pair in asked if (row := owner.execute(call, pair).fetchone())]

    assert taken == [False, False, True]


def test_a_temporary_table_does_not_stand_in_for_the_keys(owner: Rows) -> None:
    """``pg_temp`` is searched last where the owner's rights are in force."""
    query = "SELECT proname, proconfig FROM pg_proc WHERE proname IN ('hushgate_take_over_key',"
    rows = owner.execute(f"{query} 'hushgate_key_of_buried_gone')".encode()).fetchall()

    assert [row["proconfig"] for row in rows] == [["search_path=pg_catalog, public, pg_temp"]] * 2


@pytest.fixture
def engine(url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A fresh engine."""
    with running(url, redis_url, sandbox) as each:
        yield each


def test_an_entry_that_is_buried_while_another_worker_asks_the_model_gets_no_reply(
    engine: Running, owner: Rows
) -> None:
    """Frozen with its model call under way, buried by its heir, woken up: one dead letter, nothing else."""
    user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
    engine.sandbox.set_latency(moderations={"low_s": 0, "high_s": 0}, chat={"low_s": 2, "high_s": 2})
    event_id = engine.publish(user_id, "When are you open on weekdays?")
    eventually(lambda: engine.sandbox.calls("chat") == 1, "the model call")
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", engine.redis.xrange("hushgate:events"))
    ((entry_id, fields),) = entries
    payload = fields[b"data"]
    handed_out_again = EntryGrant(
        entry_id=entry_id.decode(),
        lane="x",
        ownership="x",
        starts=11,
        size_bytes=len(payload),
        payload=payload,
        event=received_event(entry_id.decode(), len(payload), payload, NOW),
    )
    engine.redis.hset("{hushgate:events}:starts", f"{entry_id.decode()} begun", "2")  # both last runs
    engine.runtime.call(engine.runtime.parts.handler(handed_out_again))
    buried = ends(owner)
    eventually(lambda: engine.redis.xlen("hushgate:events") == 0, "the end of the first run")

    assert buried == (0, 0, 0, 1, 0)
    assert ends(owner) == buried
    assert engine.reply(user_id, event_id) is None
