"""Makers of breaches, one of each kind: each returns the subjects that the report must name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from db import dead_letters
from db.dead_letters import DeadLetter
from db.repair.model import Breach
from tasks.lanes.stream import EntryGrant, Lanes
from tasks.publishing.publish import append
from tasks.shards.clients import connect
from tasks.shards.layout import lane_of
from tests.support.pools import in_pool
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
    lose,
    place,
    record,
    retract,
)
from worker.errors import PayloadFault, PayloadRejected


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


def bury(world: World, entry_id: str, *, accepted: bool = True) -> None:
    """Store a dead letter that can be published again."""
    if accepted:
        accept(world)
    why = PayloadRejected(code=PayloadFault.POISON, field="data", expected="an outcome", got="none")
    raw = json.dumps({"user_id": "acme", "conversation_id": "c"}).encode()
    at = datetime.now(UTC)
    letter = DeadLetter(entry_id=entry_id, payload=raw, size_bytes=len(raw), why=why, at=at)
    in_pool(world.url, lambda source: dead_letters.bury(source, letter))


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
    Breach.EVENT_DECIDED_TWICE: event_decided_twice,
    Breach.REPLY_SENT_UNMARKED: reply_sent_unmarked,
    Breach.REPLY_NOT_ON_STREAM: reply_not_on_stream,
    Breach.OUTGOING_NOT_ON_STREAM: outgoing_not_on_stream,
    Breach.SENT_TWICE: sent_twice,
    Breach.RETRY_LOST: retry_lost,
    Breach.ENTRIES_UNCOUNTED: entries_uncounted,
    Breach.ENDINGS_MISSING: endings_missing,
}
LOSSES = frozenset({Breach.ENTRY_MISSING, Breach.RETRY_LOST})
"""After their repair an entry is still without an ending."""
