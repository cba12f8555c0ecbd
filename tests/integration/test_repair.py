"""``hushgate repair``: each breach is made on real servers, found, repaired once, and gone."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from redis import Redis

from cli.events import repair
from cli.stack import Stack
from db import dead_letters
from db.dead_letters import DeadLetter
from db.pool import create_pool
from db.repair.model import Breach
from sandbox.server import SandboxHandle
from tasks.publish import append
from tasks.repair.kinds import BY_NAME
from tasks.shards.clients import connect
from tasks.shards.layout import lane_of
from tasks.stream import EntryGrant, Lanes
from tests.support.repairs import (
    ESCALATIONS,
    REPLIES,
    RETRACTIONS,
    STREAM,
    World,
    accept,
    close,
    deliver,
    delivered,
    escalated,
    fixed,
    looked,
    lose,
    lose_entry,
    marks,
    new_database,
    opened_world,
    place,
    record,
    retract,
)
from tests.support.running import eventually, running
from worker.errors import PayloadRejected


@pytest.fixture
def url(stack: Stack, template: str) -> str:
    """A database of the test's own."""
    return new_database(stack, template)


@pytest.fixture(params=[1, 2], ids=["one stream", "two shards"])
def world(
    url: str,
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[World]:
    """An empty Redis whose stream has this number of shards."""
    monkeypatch.setattr(repair, "SECOND_LOOK_S", 0.0)
    with opened_world(url, redis_url, tmp_path, shards=request.param) as made:
        yield made


# --- what workers leave behind


def lanes(world: World, redis: Any, worker: str) -> Lanes:
    """A worker's lanes of that shard."""
    shard = place(world).shard
    return Lanes(redis, stream=shard.name, worker=worker, keep_bytes=10_000, mark=shard.mark)


def granted(world: World, worker: str, *, release: bool = False) -> list[EntryGrant]:
    """What a worker gets of the shard."""

    async def run() -> list[EntryGrant]:
        async with connect(world.shell.environment["REDIS_URL"]) as redis:
            mine = lanes(world, redis, worker)
            await mine.prepare()
            await mine.heartbeat(60_000)
            found = list((await mine.read(10)).grants)
            if release:
                await mine.release(found)
            return found

    return asyncio.run(run())


def taken(world: World, *, release: bool = False) -> str:
    """An event that the worker ``w1`` has read; its entry."""
    body = {"user_id": "acme", "conversation_id": "c", "text": "hello"}
    (entry_id,) = append(world.redis, [json.dumps(body).encode()])
    (grant,) = granted(world, "w1", release=release)
    assert grant.entry_id == entry_id
    return entry_id


# --- one maker a kind: the subjects that the report must name


def entry_in_no_lane(world: World) -> set[str]:
    """Its lane and its pending entry were deleted by hand."""
    entry_id, prefix = taken(world), place(world).shard.prefix
    for key in list(world.redis.scan_iter(f"{prefix}*")):
        world.redis.delete(key)
    world.redis.xgroup_delconsumer(place(world).key, "hushgate", "w1")
    return {entry_id}


def entry_missing(world: World) -> set[str]:
    """Another client deleted it from the stream."""
    entry_id = taken(world)
    world.redis.xdel(place(world).key, entry_id.partition("@")[0])
    return {entry_id, lane(world)}


def lane(world: World) -> str:
    """The lane of the conversation, as the report names it."""
    return lane_of("acme", "c") + place(world).shard.mark


def lane_not_queued(world: World) -> set[str]:
    """The queue was deleted."""
    taken(world, release=True)
    prefix = place(world).shard.prefix
    world.redis.delete(f"{prefix}queue", f"{prefix}waiting")
    return {lane(world)}


def lane_of_lost_worker(world: World) -> set[str]:
    """Its worker is not in the set of workers."""
    taken(world)
    prefix = place(world).shard.prefix
    world.redis.delete(f"{prefix}workers", f"{prefix}hb:w1")
    return {lane(world)}


def account_miscounted(world: World) -> set[str]:
    """The counter was changed."""
    taken(world)
    account = hashlib.sha1(b"acme", usedforsecurity=False).hexdigest()[:16]
    world.redis.hincrby(f"{place(world).shard.prefix}running", account, 5)
    return {account + place(world).shard.mark}


def entry_ended_twice(world: World) -> set[str]:
    """A decided entry is a duplicate and a dead letter, and a dead letter is a duplicate."""
    decided = record(world).event.entry_id
    for entry_id in (decided, "900-0"):
        bury(world, entry_id, accepted=entry_id != decided)
        world.sql(
            "INSERT INTO duplicates (entry_id, user_id, event_id, created_at)"
            " VALUES (%s, 'acme', 'e', now())",
            entry_id,
        )
    return {decided, "900-0"}


def bury(world: World, entry_id: str, *, accepted: bool = True) -> None:
    """Store a dead letter that can be published again."""
    if accepted:
        accept(world)
    why = PayloadRejected(code="poison", field="data", expected="an outcome", got="none")
    raw = json.dumps({"user_id": "acme", "conversation_id": "c"}).encode()
    at = datetime.now(UTC)
    letter = DeadLetter(entry_id=entry_id, payload=raw, size_bytes=len(raw), why=why, at=at)

    async def run() -> None:
        async with create_pool(world.url, size=1, application="test") as source:
            await dead_letters.store_letter(source, letter)

    asyncio.run(run())


def decision_without_key(world: World) -> set[str]:
    """The key was deleted by hand."""
    made = record(world)
    world.sql("DELETE FROM event_keys")
    return {str(made.decision_id)}


def event_decided_twice(world: World) -> set[str]:
    """A copy of the decision under another id."""
    record(world)
    other = uuid4()
    world.sql(
        "INSERT INTO ai_decisions SELECT (d).* FROM (SELECT jsonb_populate_record(d, jsonb_build_object("
        "'id', %s::text)) AS d FROM ai_decisions d) AS copies",
        str(other),
    )
    return {str(other)}


def decision_without_reply(world: World) -> set[str]:
    """The row of the outbox was deleted before it was sent."""
    made = record(world)
    world.sql("DELETE FROM outbox")
    return {str(made.decision_id)}


def reply_sent_unmarked(world: World) -> set[str]:
    """The relay died between Redis and Postgres."""
    made = delivered(world)
    world.sql("UPDATE outbox SET delivered_at = NULL")
    return {str(made.decision_id)}


def reply_not_on_stream(world: World) -> set[str]:
    """Redis lost its last second, with entry and mark."""
    made = delivered(world)
    lose(world, REPLIES)
    return {str(made.decision_id)}


def outgoing_not_on_stream(world: World) -> set[str]:
    """Redis lost its last second, with an escalation, its end, and a retraction."""
    handed, reply = escalated(world), delivered(world)
    close(world, handed)
    review = retract(world, reply)
    deliver(world)
    lose(world, ESCALATIONS, RETRACTIONS)
    sent = {f"escalation.opened {handed.decision_id}", f"escalation.closed {handed.decision_id}"}
    return sent | {f"reply.retracted {review}"}


def sent_twice(world: World) -> set[str]:
    """The entry was copied."""
    delivered(world)
    entries: Any = world.redis.xrange(REPLIES)
    further: Any = world.redis.xadd(REPLIES, entries[0][1])
    return {f"{REPLIES} {further}"}


def unsent_reply_in_history(world: World) -> set[str]:
    """It was cancelled, and its line stayed."""
    made = record(world)
    world.sql("UPDATE outbox SET cancelled_at = now(), cancel_settled = true")
    return {str(made.decision_id)}


def orphaned_hold(world: World) -> set[str]:
    """A held draft whose decision is not in the audit."""
    rows = world.sql(
        "INSERT INTO held_drafts (user_id, conversation_id, message_id, decision_id, reason_code, kind, text,"
        " created_at, expires_at) VALUES ('acme', 'c', 'm', gen_random_uuid(), 'R', 'draft', 'text', now(),"
        " now() + interval '1 day') RETURNING id"
    )
    return {str(rows[0]["id"])}


def retry_lost(world: World) -> set[str]:
    """The entry made from a dead letter is gone."""
    bury(world, "900-0")
    made = world.shell.run("dead-letters", "retry", "900-0").rows[0]["published"]
    world.redis.xdel(place(world).key, made.partition("@")[0])
    return {"900-0"}


def entries_uncounted(world: World) -> set[str]:
    """Redis lost its last write, and the entry in it was decided."""
    world.sql(
        "INSERT INTO duplicates (entry_id, user_id, event_id, created_at) VALUES ('9-9', 'acme', 'e', now())"
    )
    accept(world)
    accept(world)
    record(world)
    world.sql("INSERT INTO purged (table_name, rows) VALUES ('duplicates', 3)")
    return {STREAM}


def endings_missing(world: World) -> set[str]:
    """Another client deleted an entry before a worker had read it."""
    accept(world)
    return {STREAM}


MAKERS: Mapping[Breach, Callable[[World], set[str]]] = {
    Breach.ENTRY_IN_NO_LANE: entry_in_no_lane,
    Breach.ENTRY_MISSING: entry_missing,
    Breach.LANE_NOT_QUEUED: lane_not_queued,
    Breach.LANE_OF_LOST_WORKER: lane_of_lost_worker,
    Breach.ACCOUNT_MISCOUNTED: account_miscounted,
    Breach.ENTRY_ENDED_TWICE: entry_ended_twice,
    Breach.DECISION_WITHOUT_KEY: decision_without_key,
    Breach.EVENT_DECIDED_TWICE: event_decided_twice,
    Breach.DECISION_WITHOUT_REPLY: decision_without_reply,
    Breach.REPLY_SENT_UNMARKED: reply_sent_unmarked,
    Breach.REPLY_NOT_ON_STREAM: reply_not_on_stream,
    Breach.OUTGOING_NOT_ON_STREAM: outgoing_not_on_stream,
    Breach.SENT_TWICE: sent_twice,
    Breach.UNSENT_REPLY_IN_HISTORY: unsent_reply_in_history,
    Breach.ORPHANED_HOLD: orphaned_hold,
    Breach.RETRY_LOST: retry_lost,
    Breach.ENTRIES_UNCOUNTED: entries_uncounted,
    Breach.ENDINGS_MISSING: endings_missing,
}
LOSSES = frozenset({Breach.ENTRY_MISSING, Breach.RETRY_LOST})
"""After their repair an entry is still without an ending."""
IN_LANES = frozenset(list(Breach)[:5]) | LOSSES | {Breach.ENTRIES_UNCOUNTED}
CASES = [
    pytest.param(shards, breach, id=f"{breach} {shards}")
    for breach in Breach
    for shards in ((1, 2) if breach in IN_LANES else (1,))
]


@pytest.mark.parametrize(("world", "breach"), CASES, indirect=["world"])
def test_a_breach_is_found_and_repaired(
    world: World, breach: Breach, caplog: pytest.LogCaptureFixture
) -> None:
    """The report changes nothing and names it alone; the repair is logged; the next report is clean."""
    clean = world.repair()
    subjects = MAKERS[breach](world)
    reports = [world.repair(), world.repair("--fix", breach)]
    mended = world.repair("--fix", breach, "--yes")
    after = world.repair()
    logged = world.sql("SELECT detail FROM access_log WHERE action = 'repair' ORDER BY id")

    assert (clean.code, clean.rows) == (0, [])
    for report in reports:
        assert report.code == 1
        assert [(row["breach"], row["state"]) for row in report.rows] == [(breach, "found")] * len(subjects)
        assert {row["subject"] for row in report.rows} == subjects
    if BY_NAME[breach].fix is None:
        assert (mended.code, after.code, logged) == (1, 1, [])
        return
    assert [row["state"] for row in mended.rows] == ["repaired"] * len(subjects)
    assert mended.code == 0
    assert [row["breach"] for row in after.rows] == [Breach.ENDINGS_MISSING] * (breach in LOSSES)
    assert {row["detail"]["subject"] for row in logged} == subjects
    assert caplog.text.count("breach_repaired") == len(subjects)


def test_every_breach_has_a_repair_and_a_test() -> None:
    """In the order of their declaration."""
    assert list(BY_NAME) == list(MAKERS) == list(Breach)


# --- what a repair leads to


@pytest.mark.parametrize(
    ("world", "breach"),
    [(1, Breach.ENTRY_IN_NO_LANE), (2, Breach.LANE_NOT_QUEUED), (2, Breach.LANE_OF_LOST_WORKER)],
    indirect=["world"],
)
def test_a_worker_gets_a_restored_entry(world: World, breach: Breach) -> None:
    """No worker got it before."""
    MAKERS[breach](world)
    before = granted(world, "w2")
    world.repair("--fix", breach, "--yes")
    after = granted(world, "w2")

    assert (before, len(after)) == ([], 1)


@pytest.mark.parametrize("world", [1], indirect=True)
@pytest.mark.parametrize("breach", [each for each in Breach if BY_NAME[each].fix], ids=str)
def test_a_breach_that_is_gone_meanwhile_is_not_repaired(world: World, breach: Breach) -> None:
    """Two people repair the same report: the second one changes nothing, in neither server."""
    MAKERS[breach](world)
    found = asyncio.run(looked(world, breach))
    first = asyncio.run(fixed(world, breach, found))
    deliver(world)
    before = contents(world)
    second = asyncio.run(fixed(world, breach, found))

    assert first == {each.subject for each in found} != set()
    assert second == set()
    assert contents(world) == before


TABLES = (
    "ai_decisions", "event_keys", "duplicates", "dead_letters", "outbox", "outgoing_events", "messages",
    "held_drafts", "purged", "escalations", "retractions", "webhook_deliveries",
)  # fmt: skip


def contents(world: World) -> dict[str, Any]:
    """The rows of every table that a repair may change, and the values of every key."""
    rows = {
        name: world.sql(f"SELECT to_jsonb(t) AS row FROM {name} t ORDER BY to_jsonb(t)::text")
        for name in TABLES
    }
    with Redis.from_url(world.shell.environment["REDIS_URL"]) as raw:
        found: Any = raw.keys()
        keys = {key.decode(): raw.dump(key) for key in sorted(found)}
    return {**rows, **keys}


@pytest.mark.parametrize("world", [1], indirect=True)
def test_a_reply_that_redis_lost_is_sent_once(world: World) -> None:
    """And one that it still has is not sent again."""
    kept = delivered(world)
    lost = delivered(world)
    lose_entry(world, REPLIES, str(lost.decision_id))
    world.repair("--fix", Breach.REPLY_NOT_ON_STREAM, "--yes")
    deliver(world)

    assert marks(world, REPLIES) == [str(kept.decision_id), str(lost.decision_id)]


@pytest.mark.parametrize("world", [1], indirect=True)
@pytest.mark.parametrize("was_sent", [True, False])
def test_a_restored_reply_is_never_sent(world: World, *, was_sent: bool) -> None:
    """Delivered when the stream has it; else it is cancelled and leaves the history."""
    (delivered if was_sent else record)(world)
    world.sql("DELETE FROM outbox")
    world.repair("--fix", Breach.DECISION_WITHOUT_REPLY, "--yes")
    deliver(world)
    (row,) = world.sql("SELECT text, delivered_at IS NOT NULL AS sent, cancel_settled FROM outbox")
    history = world.sql("SELECT text FROM messages WHERE role = 'assistant'")

    assert row == {"text": "a reply", "sent": was_sent, "cancel_settled": not was_sent}
    assert (len(marks(world, REPLIES)), len(history)) == (int(was_sent), int(was_sent))


@pytest.mark.parametrize("world", [1], indirect=True)
def test_only_the_named_subject_is_repaired(world: World) -> None:
    """Others stay, and the exit code says so."""
    for _ in range(2):
        orphaned_hold(world)
    first = world.repair().rows[0]["subject"]
    world.repair("--fix", Breach.ORPHANED_HOLD, "--yes", "--subject", first)

    assert len(world.repair().rows) == 1


@pytest.mark.parametrize("world", [1], indirect=True)
def test_what_is_young_is_no_breach(world: World) -> None:
    """A worker may be about to finish it."""
    reply_sent_unmarked(world)
    entry_in_no_lane(world)

    assert world.shell.run("repair").rows == []


@pytest.mark.parametrize("world", [1], indirect=True)
def test_running_workers_have_no_breach(
    world: World, sandbox: SandboxHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events are decided and replies are sent while the report runs again and again."""
    monkeypatch.setattr(repair, "SECOND_LOOK_S", 0.5)
    with running(world.url, world.shell.environment["REDIS_URL"], sandbox) as engine:
        user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
        published = [engine.publish(user_id, "When are you open on weekdays?") for _ in range(60)]
        found: list[dict[str, Any]] = []

        def ended() -> bool:
            found.extend(world.repair().rows)
            return engine.redis.xlen(STREAM) == 0 and len(marks(world, REPLIES)) == len(published)

        eventually(ended, "all replies")

    assert found == []
