"""The lanes on a real server: every promise of ``tasks/lanes/stream.py`` and its scripts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, ResponseError
from structlog.testing import capture_logs

from tasks.lanes import received, stream
from tasks.lanes.stream import GROUP, EntryGrant, FinishRequest, Lanes
from tasks.lanes.upkeep import EngineLimits, LaneUpkeep
from tasks.shards.backlog import backlog
from tasks.shards.clients import connect
from tasks.shards.layout import lane_of, shard_number
from tests.support.samples import body_of
from worker.errors import PayloadRejected
from worker.model import Event, EventType
from worker.payload import Arrival, parse, received_at

STREAM = "test:events"
KEYS = f"{{{STREAM}}}:"
KEEP_BYTES = 4096
NewWorker = Callable[[str], Awaitable[Lanes]]


@pytest.fixture
def worker(redis: Redis) -> NewWorker:
    """Makes workers that have a heartbeat."""

    async def make(name: str) -> Lanes:
        lanes = Lanes(redis, stream=STREAM, worker=name, keep_bytes=KEEP_BYTES)
        await lanes.prepare()
        await lanes.heartbeat(60_000)
        return lanes

    return make


async def newer(lanes: Lanes, entry_id: str, lane: str) -> tuple[Event, ...]:
    """The events that wait behind one."""
    (found,) = await lanes.newer_of_several([(entry_id, lane)])
    return found


def event(conversation: str, number: int = 1, **more: Any) -> dict[str, Any]:
    """A valid event."""
    known = {"user_id": "account", "conversation_id": conversation, "message_id": f"m{number}"}
    return body_of(f"{conversation}/{number}") | known | more


async def publish(redis: Redis, *events: dict[str, Any] | bytes) -> list[str]:
    """Append events; their entry ids."""
    bodies = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in events]
    return [text(await redis.xadd(STREAM, {"data": body})) for body in bodies]


def text(reply: object) -> str:
    """A reply of the server that is a string."""
    assert isinstance(reply, bytes)
    return reply.decode()


async def die(redis: Redis, name: str) -> None:
    """What SIGKILL looks like to others once the heartbeat has expired, long after the last outage."""
    await redis.delete(f"{KEYS}hb:{name}")
    await redis.set(f"{KEYS}reap_from", 0, px=60_000)


async def test_upkeep_of_a_worker_that_has_not_read_yet_is_silent(redis: Redis) -> None:
    """A worker that waits for a model has neither stream nor group, and nothing to repair."""
    lanes = Lanes(redis, stream=STREAM, worker="w1", keep_bytes=KEEP_BYTES)
    upkeep = LaneUpkeep(lanes, EngineLimits(heartbeat_ttl_s=0.4), lambda: None)
    with capture_logs() as logs, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.6):
            await asyncio.gather(*upkeep.jobs())

    assert [line["event"] for line in logs] == []


async def finish(lanes: Lanes, grant: EntryGrant, *, keep: bool = True) -> EntryGrant | None:
    """FINISH one entry."""
    return (await lanes.finish([FinishRequest(grant=grant, keep=keep)]))[0]


async def only_grant(lanes: Lanes) -> EntryGrant:
    """The one grant that READ must give now."""
    (grant,) = (await lanes.read(10)).grants
    return grant


async def is_empty(redis: Redis) -> bool:
    """True when nothing is left but counters and the signs of life of workers."""
    left = {text(key).removeprefix(KEYS) for key in await redis.keys("*")} - {STREAM}
    lasting = {key for key in left if key in ("token", "vanished", "workers", "departed", "reap_from")}
    lasting |= {key for key in left if key.startswith("hb:")}
    pending = await redis.xpending(STREAM, GROUP)
    return left == lasting and pending["pending"] == 0 and await redis.xlen(STREAM) == 0


async def test_entries_of_one_conversation_are_granted_one_at_a_time_in_stream_order(
    redis: Redis, worker: NewWorker
) -> None:
    """FINISH hands the next entry of the lane on, and the lane is gone after the last."""
    lanes = await worker("a")
    ids = await publish(redis, *(event("c", number) for number in range(5)))
    granted = []
    grant: EntryGrant | None = await only_grant(lanes)
    while grant is not None:
        granted.append(grant.entry_id)
        assert not (await lanes.read(10)).grants
        grant = await finish(lanes, grant)

    assert granted == ids
    assert await is_empty(redis)


async def test_a_read_that_leaves_nothing_says_after_which_entry_to_wait(
    redis: Redis, worker: NewWorker
) -> None:
    """The worker then needs no READ that finds nothing; one that leaves entries must be repeated."""
    lanes = await worker("a")
    (entry,) = await publish(redis, event("c0"))
    alone = await lanes.read(10)
    ids = await publish(redis, *(event(f"c{number}") for number in range(1, 4)))
    some, rest = await lanes.read(2), await lanes.read(2)
    (behind,) = await publish(redis, event("c0", 2))
    waits = await lanes.read(10)

    assert (alone.last_id, alone.has_read_all, len(alone.grants)) == (entry, True, 1)
    assert [each.entry_id for each in (*some.grants, *rest.grants)] == ids
    assert [len(some.grants), len(rest.grants)] == [2, 1]
    assert (some.has_read_all, rest.has_read_all, rest.last_id) == (False, True, ids[-1])
    assert (waits.last_id, waits.grants, waits.entries_read) == (behind, (), 1)


async def test_the_same_conversation_id_of_two_accounts_is_two_lanes(redis: Redis, worker: NewWorker) -> None:
    """A conversation belongs to its account."""
    lanes = await worker("a")
    await publish(redis, event("c"), event("c", user_id="other"))

    assert len((await lanes.read(10)).grants) == 2


async def test_many_readers_never_hold_two_entries_of_a_lane_nor_break_its_order(
    redis_url: str, worker: NewWorker
) -> None:
    """Admission is one step: readers, finishers and publishers interleave freely."""
    rng = random.Random(7)
    expected: dict[str, list[str]] = defaultdict(list)
    done: dict[str, list[str]] = defaultdict(list)
    held: set[str] = set()
    total = 600

    async def publisher(client: Redis) -> None:
        for number in range(total):
            conversation = f"c{rng.randrange(17)}"
            (entry_id,) = await publish(client, event(conversation, number))
            expected[conversation].append(entry_id)

    async def run(lanes: Lanes, grant: EntryGrant | None) -> None:
        while grant is not None:
            conversation = json.loads(grant.payload)["conversation_id"]
            assert conversation not in held
            held.add(conversation)
            await asyncio.sleep(0)
            done[conversation].append(grant.entry_id)
            held.remove(conversation)
            grant = await finish(lanes, grant, keep=rng.random() < 0.7)

    async def reader(lanes: Lanes) -> None:
        while sum(map(len, done.values())) < total:
            result = await lanes.read(rng.randrange(1, 9))
            await asyncio.gather(*(run(lanes, grant) for grant in result.grants))

    async with connect(redis_url) as client, asyncio.timeout(60), asyncio.TaskGroup() as group:
        workers = [await worker(f"w{number}") for number in range(4)]
        group.create_task(publisher(client))
        for lanes in workers:
            group.create_task(reader(lanes))

    assert done == expected


async def test_finish_may_be_repeated_when_its_reply_was_lost(redis: Redis, worker: NewWorker) -> None:
    """The same ownership gets the same head again, and the entry that was finished stays finished."""
    lanes = await worker("a")
    ids = await publish(redis, *(event("c", number) for number in range(3)))
    first = await only_grant(lanes)
    lost, again = await finish(lanes, first), await finish(lanes, first)

    assert lost is not None
    assert again is not None
    assert (lost.entry_id, again.entry_id) == (ids[1], ids[1])
    assert again.ownership == first.ownership
    assert (again_last := await finish(lanes, again)) is not None
    assert again_last.entry_id == ids[2]
    assert await finish(lanes, again_last) is None
    assert await finish(lanes, again_last) is None
    assert await is_empty(redis)


async def test_a_repeated_finish_that_releases_does_not_take_the_lane_from_its_next_owner(
    redis: Redis, worker: NewWorker
) -> None:
    """After a release, the lane belongs to the worker that takes it."""
    a, b = await worker("a"), await worker("b")
    ids = await publish(redis, event("c", 1), event("c", 2))
    first = await only_grant(a)
    assert await finish(a, first, keep=False) is None
    second = await only_grant(b)
    assert await finish(a, first, keep=False) is None
    assert await finish(a, first) is None

    assert second.entry_id == ids[1]
    assert not (await a.read(10)).grants
    assert await finish(b, second) is None
    assert await is_empty(redis)


async def test_finish_survives_a_server_that_forgot_the_scripts(redis: Redis, worker: NewWorker) -> None:
    """A restarted Redis has an empty script cache."""
    lanes = await worker("a")
    await publish(redis, event("c", 1), event("c", 2), event("d", 1))
    grants = (await lanes.read(10)).grants
    await redis.script_flush()
    following = await lanes.finish([FinishRequest(grant=grant, keep=True) for grant in grants])

    assert [grant and grant.starts for grant in following] == [1, None]


async def test_the_lanes_of_a_dead_worker_are_reaped_in_order(redis: Redis, worker: NewWorker) -> None:
    """What a killed worker held is granted again, its second start counted, its followers after it."""
    a, b = await worker("a"), await worker("b")
    ids = await publish(redis, event("c", 1), event("c", 2))
    await only_grant(a)
    await die(redis, "a")

    assert await b.reap() == (1, ("a",))
    taken = await only_grant(b)
    assert (taken.entry_id, taken.starts) == (ids[0], 2)
    following = await finish(b, taken)
    assert following is not None
    assert (following.entry_id, following.starts) == (ids[1], 1)


async def test_a_worker_of_any_name_is_reaped(redis: Redis, worker: NewWorker) -> None:
    """A name that is no text would end the engine of a living worker."""
    a = await worker("a")
    await redis.sadd(f"{KEYS}workers", b"\xff")
    await die(redis, "b")

    assert await a.reap() == (0, ("\ufffd",))


async def test_a_living_worker_is_not_reaped(redis: Redis, worker: NewWorker) -> None:
    """However long an entry runs, a heartbeat is enough."""
    a, b = await worker("a"), await worker("b")
    await publish(redis, event("c"))
    await only_grant(a)

    assert await b.reap() == (0, ())
    assert not (await b.read(10)).grants


async def outlast(redis: Redis) -> None:
    """What an outage of the server leaves behind once it was longer than every TTL."""
    await redis.delete(*[key async for key in redis.scan_iter(f"{KEYS}hb:*")], f"{KEYS}reap_from")


async def test_after_an_outage_living_workers_keep_their_lanes(redis: Redis, worker: NewWorker) -> None:
    """The first worker that comes back neither reaps the others nor takes a lane over by a new entry."""
    a, b = await worker("a"), await worker("b")
    await publish(redis, event("c", 1))
    held = await only_grant(a)
    await outlast(redis)
    await publish(redis, event("c", 2))
    before = (await b.read(10)).grants
    await b.heartbeat(60_000)
    freed, after = await b.reap(), (await b.read(10)).grants
    await a.heartbeat(60_000)
    following = await finish(a, held)

    assert (before, freed, after) == ((), (0, ()), ())
    assert following is not None


async def test_who_does_not_come_back_after_an_outage_is_reaped_half_a_ttl_later(
    redis: Redis, worker: NewWorker
) -> None:
    """From then on a missing heartbeat is conclusive again."""
    a, b = await worker("a"), await worker("b")
    await publish(redis, event("c", 1))
    await only_grant(a)
    await outlast(redis)
    waited = asyncio.get_running_loop().time()
    async with asyncio.timeout(20):
        while not (await b.reap())[0]:
            await b.heartbeat(1000)
    waited = asyncio.get_running_loop().time() - waited

    assert waited >= 0.49  # Redis and this clock round differently


async def test_a_fresh_worker_reaps_at_once_on_a_server_that_was_never_away(
    redis: Redis, worker: NewWorker
) -> None:
    """How long the reaper itself has lived proves nothing: the heartbeats of others kept the clock."""
    a = await worker("a")
    await publish(redis, event("c", 1))
    await only_grant(a)
    await die(redis, "a")
    fresh = await worker("fresh")

    assert await fresh.reap() == (1, ("a",))


async def test_reap_frees_no_more_lanes_than_asked_and_goes_on_next_time(
    redis: Redis, worker: NewWorker
) -> None:
    """One call never blocks the server for long."""
    a, b = await worker("a"), await worker("b")
    await publish(redis, *(event(f"c{number}") for number in range(5)))
    await a.read(10)
    await die(redis, "a")
    freed = [(await b.reap(2))[0] for _ in range(4)]

    assert freed == [2, 2, 1, 0]
    assert len((await b.read(10)).grants) == 5


async def test_a_new_entry_takes_a_lane_over_from_a_dead_owner_without_waiting_for_the_reaper(
    redis: Redis, worker: NewWorker
) -> None:
    """READ looks at the heartbeat itself; the dead worker's entry still comes first."""
    a, b = await worker("a"), await worker("b")
    (first,) = await publish(redis, event("c", 1))
    await only_grant(a)
    await die(redis, "a")
    await publish(redis, event("c", 2))

    assert (await only_grant(b)).entry_id == first


async def test_a_stopped_and_revived_worker_neither_gets_the_next_entry_nor_disturbs_the_owner(
    redis: Redis, worker: NewWorker
) -> None:
    """Ownership is fenced: FINISH and RELEASE with an old ownership change no lane."""
    a, b = await worker("a"), await worker("b")
    ids = await publish(redis, *(event("c", number) for number in range(3)))
    stale = await only_grant(a)
    await die(redis, "a")
    await b.reap()
    owner = await only_grant(b)
    await a.heartbeat(60_000)

    assert await finish(a, stale) is None
    assert await a.release([stale]) == 0
    assert await a.release_unknown(frozenset()) == 0
    assert not (await a.read(10)).grants
    following = await finish(b, owner)
    assert following is not None
    assert following.entry_id == ids[1]


async def test_a_worker_that_lost_its_lane_and_got_it_back_has_a_new_ownership(
    redis: Redis, worker: NewWorker
) -> None:
    """The same worker's older ownership is as foreign as another worker's."""
    a, b = await worker("a"), await worker("b")
    ids = await publish(redis, event("c", 1), event("c", 2))
    stale = await only_grant(a)
    await die(redis, "a")
    await b.reap()
    await a.heartbeat(60_000)
    fresh = await only_grant(a)

    assert fresh.entry_id == stale.entry_id == ids[0]
    assert await finish(a, stale) is None
    following = await finish(a, fresh)
    assert following is not None
    assert following.entry_id == ids[1]


async def test_a_release_on_drain_is_no_start(redis: Redis, worker: NewWorker) -> None:
    """A rolling restart brings no entry nearer to poison."""
    a, b = await worker("a"), await worker("b")
    (entry_id,) = await publish(redis, event("c"))
    for _ in range(20):
        assert await a.release([await only_grant(a)]) == 1
    await only_grant(a)
    await a.leave()
    grant = await only_grant(b)

    assert (grant.entry_id, grant.starts) == (entry_id, 1)


async def test_runs_of_an_entry_granted_too_often_are_counted_until_it_ends(
    redis: Redis, worker: NewWorker
) -> None:
    """The death of the worker keeps the count, a release resets it, the end of the entry removes it."""
    a, b = await worker("a"), await worker("b")
    await publish(redis, event("c"))
    first = await only_grant(a)
    counts = [await a.begin_run(first.entry_id)]
    await die(redis, "a")
    await b.reap()
    second = await only_grant(b)
    counts.append(await b.begin_run(first.entry_id))
    await b.release([second])
    third = await only_grant(b)
    counts.append(await b.begin_run(first.entry_id))
    await finish(b, third)

    assert counts == [1, 2, 1]
    assert await is_empty(redis)


async def test_a_lost_read_reply_is_recovered_and_is_no_start(redis: Redis, worker: NewWorker) -> None:
    """What Redis counts as ours and we do not run is given back; what we run is kept."""
    a = await worker("a")
    await publish(redis, event("known"))
    known = await only_grant(a)
    ids = await publish(redis, event("c1"), event("c2"))
    await a.read(10)

    assert await a.release_unknown(frozenset({known.ownership})) == 2
    grants = (await a.read(10)).grants
    assert sorted((grant.entry_id, grant.starts) for grant in grants) == [(ids[0], 1), (ids[1], 1)]


async def test_a_lost_read_reply_is_recovered_even_when_an_older_ownership_of_the_lane_still_runs(
    redis: Redis, worker: NewWorker
) -> None:
    """The lane's name says nothing: only the ownership tells what runs."""
    a, b = await worker("a"), await worker("b")
    (entry_id,) = await publish(redis, event("c"))
    stale = await only_grant(a)
    await die(redis, "a")
    await b.reap()
    await a.heartbeat(60_000)
    await a.read(10)

    assert await a.release_unknown(frozenset({stale.ownership})) == 1
    assert (await only_grant(b)).entry_id == entry_id


async def test_leaving_gives_everything_back_and_the_consumer_goes_when_its_entries_are_done(
    redis: Redis, worker: NewWorker
) -> None:
    """After a worker has left, no worker waits for its heartbeat, and its consumer is removed."""
    a, b = await worker("a"), await worker("b")
    await publish(redis, event("c"))
    await only_grant(a)
    await a.leave()
    grant = await only_grant(b)
    await b.reap()
    names = [consumer["name"] for consumer in await redis.xinfo_consumers(STREAM, GROUP)]
    await finish(b, grant)
    await b.reap()
    names_after = [consumer["name"] for consumer in await redis.xinfo_consumers(STREAM, GROUP)]

    assert sorted(names) == [b"a", b"b"]
    assert names_after == [b"b"]


async def test_entries_that_somebody_deleted_are_skipped_and_counted(redis: Redis, worker: NewWorker) -> None:
    """A lane goes on past holes, and the holes show in the figures."""
    lanes = await worker("a")
    ids = await publish(redis, *(event("c", number) for number in range(4)))
    first = await only_grant(lanes)
    await redis.xdel(STREAM, ids[1], ids[2])
    following = await finish(lanes, first)

    assert following is not None
    assert following.entry_id == ids[3]
    assert (await backlog(redis, STREAM))["vanished"] == 2
    assert await finish(lanes, following) is None
    assert await is_empty(redis)


async def test_a_lane_of_deleted_entries_only_is_given_up(redis: Redis, worker: NewWorker) -> None:
    """Nothing is left behind when the whole lane vanished."""
    a, b = await worker("a"), await worker("b")
    ids = await publish(redis, event("c", 1), event("c", 2))
    await only_grant(a)
    await die(redis, "a")
    await redis.xdel(STREAM, *ids)
    await b.reap()

    assert not (await b.read(10)).grants
    assert (await backlog(redis, STREAM))["vanished"] == 2
    assert await is_empty(redis)


LOST = (
    *("lane:*", "owner", "owned:*", "starts", "*"),
    *("queue", "waiting", "running", "place"),
)


@pytest.mark.parametrize("lost", LOST)
async def test_repair_puts_pending_entries_back_whatever_was_lost(
    redis: Redis, worker: NewWorker, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Pending entries without lane, owner or place in the queue of free lanes run again, in order."""
    monkeypatch.setattr(stream, "IDLE_BEFORE_REPAIR_MS", 0)
    a, b = await worker("a"), await worker("b")
    ids = await publish(redis, event("c", 1), event("c", 2), event("d", 1))
    await a.read(10)
    await die(redis, "a")
    await b.reap()
    for key in await redis.keys(KEYS.replace("{", "[{]") + lost):
        await redis.delete(key)
    await b.heartbeat(60_000)
    cursor = "-"
    for _ in range(3):
        cursor, _mended = await b.repair(cursor, count=2)
    grants = {grant.entry_id: grant for grant in (await b.read(10)).grants}
    following = await finish(b, grants[ids[0]])

    assert set(grants) == {ids[0], ids[2]}
    assert following is not None
    assert following.entry_id == ids[1]


async def test_repair_leaves_alone_what_runs(
    redis: Redis, worker: NewWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lane with a living owner is no finding."""
    monkeypatch.setattr(stream, "IDLE_BEFORE_REPAIR_MS", 0)
    a, b = await worker("a"), await worker("b")
    await publish(redis, event("c", 1), event("c", 2))
    await only_grant(a)

    assert (await b.repair("-"))[1] == 0
    assert not (await b.read(10)).grants


async def test_repair_clears_pending_entries_that_are_gone(
    redis: Redis, worker: NewWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry without lane that was deleted as well leaves the group."""
    monkeypatch.setattr(stream, "IDLE_BEFORE_REPAIR_MS", 0)
    a = await worker("a")
    ids = await publish(redis, event("c"))
    await a.read(10)
    await redis.delete(*(await redis.keys(KEYS.replace("{", "[{]") + "*")))
    await redis.xdel(STREAM, *ids)
    await a.repair("-")

    assert (await redis.xpending(STREAM, GROUP))["pending"] == 0


async def test_an_entry_without_data_runs_in_a_lane_of_its_own(redis: Redis, worker: NewWorker) -> None:
    """Its fields are handed out as JSON, so that the dead letter shows what came."""
    lanes = await worker("a")
    entry_id = text(await redis.xadd(STREAM, {"date": "typo", "n": "1"}))
    grant = await only_grant(lanes)

    assert (grant.entry_id, grant.size_bytes, grant.lane) == (entry_id, -1, f"!{entry_id}")
    assert json.loads(grant.payload) == ["date", "typo", "n", "1"]
    assert await finish(lanes, grant) is None


async def test_the_last_field_data_of_an_entry_counts(redis: Redis, worker: NewWorker) -> None:
    """As for explain and erasure, which read the fields into a table."""
    lanes = await worker("a")
    client: Any = redis
    await client.execute_command("XADD", STREAM, "*", "data", "first", "data", "last")
    grant = await only_grant(lanes)
    ((_, fields),) = await client.xrange(STREAM)

    assert grant.payload == fields[b"data"] == b"last"


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{bad",
        b"\xff\xfe",
        b"[1]",
        b"null",
        b'"text"',
        b"[" * 3000,
        b'{"user_id":"a"}',
        b'{"user_id":1,"conversation_id":"c"}',
        b'{"user_id":"a","conversation_id":null}',
    ],
)
async def test_what_is_no_event_runs_in_a_lane_of_its_own(
    redis: Redis, worker: NewWorker, payload: bytes
) -> None:
    """A payload without a readable conversation delays no other entry and is granted unchanged."""
    lanes = await worker("a")
    ids = await publish(redis, payload, event("c"), payload)
    grants = {grant.entry_id: grant for grant in (await lanes.read(10)).grants}

    assert sorted(grants) == sorted(ids)
    assert {grants[ids[0]].lane, grants[ids[2]].lane} == {f"!{ids[0]}", f"!{ids[2]}"}
    assert grants[ids[0]].payload == payload[:KEEP_BYTES]


async def test_a_payload_of_ten_megabytes_is_cut_when_handed_out_and_tells_its_size(
    redis: Redis, worker: NewWorker
) -> None:
    """The worker's memory is bounded by what it can use; the lane is the entry's own."""
    lanes = await worker("a")
    payload = json.dumps(event("c", text="x" * 10_000_000)).encode()
    (entry_id,) = await publish(redis, payload)
    grant = await only_grant(lanes)

    assert (grant.lane, grant.size_bytes, grant.payload) == (
        f"!{entry_id}",
        len(payload),
        payload[:KEEP_BYTES],
    )


async def test_a_conversation_id_of_a_million_characters_makes_no_long_key(
    redis: Redis, worker: NewWorker
) -> None:
    """Lanes are named by a hash."""
    lanes = Lanes(redis, stream=STREAM, worker="a", keep_bytes=2_000_000)
    await lanes.prepare()
    await lanes.heartbeat(60_000)
    await publish(redis, event("c" * 1_000_000, event_id="e"))

    assert len((await only_grant(lanes)).lane) == 40


def envelope(inner: dict[str, Any], **more: Any) -> dict[str, Any]:
    """CloudEvents 1.0 structured JSON around an event."""
    return {"specversion": "1.0", "id": "e1", "source": "/shop", "type": "message", "data": inner, **more}


async def test_a_cloud_event_runs_in_the_lane_of_its_conversation(redis: Redis, worker: NewWorker) -> None:
    """Plain and wrapped events of one conversation stand in one queue."""
    lanes = await worker("a")
    ids = await publish(redis, event("c", 1), envelope(event("c", 2)), event("c", 3))
    first = await only_grant(lanes)
    second = await finish(lanes, first)

    assert second is not None
    assert second.entry_id == ids[1]


def accepted(*bodies: bytes) -> list[Any]:
    """Test cases named by what is odd about them."""
    return [pytest.param(body, id=body[:40].decode(errors="replace")) for body in bodies]


TAIL = json.dumps(event("conversation"))[1:].encode()
DEEP = b'{"x":' * 1500 + b"1" + b"}" * 1500


@pytest.mark.parametrize(
    "payload",
    accepted(
        b'{"emoji":"\\ud83d\\ude00",' + TAIL,
        b'{"lone_surrogate":"\\ud800",' + TAIL,
        b'{"low_surrogate":"\\udc00",' + TAIL,
        b'{"\\ud800":1,' + TAIL,
        b"\xef\xbb\xbf" + json.dumps(event("bom")).encode(),
        b'{"x":NaN,' + TAIL,
        json.dumps(event("c HALF")).encode().replace(b"HALF", rb"\ud83d \\ud83d \\\ud83d \ud83d\ude00"),
        b'{"huge":' + b"1" * 400 + b"," + TAIL,
        b'{"tiny":-1e-999,' + TAIL,
        b'{"delete":"\x7f",' + TAIL,
        b'{"deep":' + DEEP + b"," + TAIL,
        b'{"depth33":' + b"[" * 40 + b"]" * 40 + b"," + TAIL,
        b' \t\r\n{"space":1 , ' + TAIL,
        b'{"conversation_id":"first",' + TAIL,
        b'{"specversion":"1.0","id":"e","source":"s","type":"t","deep":' + DEEP + b',"data":{' + TAIL + b"}",
        b'{"specversion":"1.0","id":"e","source":"s","type":"t","user_id":"x","data":{' + TAIL + b"}",
        b'{"specversion":null,' + TAIL,
        b'{"specversion":1.0,"data":{' + TAIL + b"}",
    ),
)
async def test_every_payload_that_becomes_an_event_runs_in_the_lane_of_its_conversation(
    redis: Redis, worker: NewWorker, payload: bytes
) -> None:
    """Redis and the worker read JSON with different parsers: what only one of them takes must be no event."""
    lanes = Lanes(redis, stream=STREAM, worker="a", keep_bytes=1_000_000)
    await lanes.prepare()
    await lanes.heartbeat(60_000)
    await publish(redis, payload)
    grant = await only_grant(lanes)
    arrival = Arrival(
        entry_id=grant.entry_id, size_bytes=len(payload), received_at=received_at(grant.entry_id)
    )
    try:
        parsed = parse(grant.payload, arrival)
        name = f"{parsed.user_id}\0{parsed.conversation_id}".encode()
        expected = {hashlib.sha1(name).hexdigest()}
    except PayloadRejected:
        expected = {f"!{grant.entry_id}", grant.lane}

    assert grant.lane in expected


async def test_a_lost_stream_is_made_anew_and_what_was_there_before_the_group_counts(
    redis: Redis, worker: NewWorker
) -> None:
    """After FLUSHALL the next READ says NOGROUP, and ``prepare`` starts from the first entry."""
    lanes = await worker("a")
    await redis.flushall()
    ids = await publish(redis, event("c"))
    with pytest.raises(ResponseError, match="NOGROUP"):
        await lanes.read(10)
    await lanes.prepare()

    assert (await only_grant(lanes)).entry_id == ids[0]


async def test_ids_that_are_no_times_keep_their_numeric_order(redis: Redis, worker: NewWorker) -> None:
    """A publisher may choose its own ids, up to the largest that a stream knows."""
    lanes = await worker("a")
    ids = [
        "0-1",
        "9-1",
        "9-12",
        "10-1",
        "18446744073709551614-0",
        "18446744073709551615-18446744073709551615",
    ]
    for entry_id in ids:
        await redis.xadd(STREAM, {"data": json.dumps(event("c"))}, id=entry_id)
    granted = []
    grant: EntryGrant | None = await only_grant(lanes)
    while grant is not None:
        granted.append(grant.entry_id)
        grant = await finish(lanes, grant)

    assert granted == ids
    assert await is_empty(redis)


@pytest.fixture
async def full(redis: Redis) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Takes all memory from the server until the test ends."""

    async def fill() -> None:
        await redis.config_set("maxmemory", "1mb")
        with pytest.raises(OutOfMemoryError):
            await publish(redis, event("c", 3))

    yield fill
    await redis.config_set("maxmemory", "0")


async def test_a_full_redis_still_lets_work_go_on(
    redis: Redis, worker: NewWorker, full: Callable[[], Awaitable[None]]
) -> None:
    """With noeviction and no memory left, publishing fails, but reading, finishing and heartbeats do not."""
    lanes = await worker("a")
    ids = await publish(redis, event("c", 1), event("c", 2))
    await die(redis, "a")
    await full()
    await lanes.heartbeat(60_000)
    grant = await only_grant(lanes)
    following = await finish(lanes, grant)

    assert following is not None
    assert following.entry_id == ids[1]
    assert await redis.exists(f"{KEYS}hb:a")


async def test_a_worker_starts_on_a_full_redis_and_drains_it(
    redis: Redis, full: Callable[[], Awaitable[None]]
) -> None:
    """Publishers filled the server before its first worker came: the group is made without free memory."""
    ids = await publish(redis, event("c", 1), event("c", 2))
    await full()
    lanes = Lanes(redis, stream=STREAM, worker="a", keep_bytes=KEEP_BYTES)
    await lanes.prepare()
    await lanes.prepare()
    await lanes.heartbeat(60_000)
    first = await only_grant(lanes)
    second = await finish(lanes, first)
    assert second is not None
    await finish(lanes, second)

    assert [first.entry_id, second.entry_id] == ids
    assert await redis.xlen(STREAM) == 0


async def test_lanes_change_hands_on_a_full_redis(
    redis: Redis, worker: NewWorker, full: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reaping, releasing, repairing and leaving need no free memory either."""
    monkeypatch.setattr(stream, "IDLE_BEFORE_REPAIR_MS", 0)
    a, b, c = [await worker(name) for name in "abc"]
    ids = await publish(redis, event("c", 1), event("lost", 1))
    await a.read(10)
    await die(redis, "a")
    await redis.delete(*(await redis.keys(KEYS.replace("{", "[{]") + "lane:*")))
    await full()
    repaired = (await b.repair("-"))[1]
    reaped = await b.reap()
    taken = (await b.read(1)).grants
    released = await b.release(taken)
    await b.leave()
    grants = (await c.read(10)).grants

    assert (repaired, reaped[1], released) == (2, ("a",), 1)
    assert sorted(grant.entry_id for grant in grants) == ids
    assert await redis.smembers(f"{KEYS}departed") >= {b"b"}


async def test_lanes_of_a_worker_that_woke_after_it_was_reaped_are_freed(
    redis: Redis, worker: NewWorker
) -> None:
    """Its request was under way while it was frozen; it is killed before its next heartbeat."""
    frozen, other = [await worker(name) for name in "ab"]
    await die(redis, "a")
    await other.reap()
    (entry_id,) = await publish(redis, event("c", 1))
    await frozen.read(10)
    for _ in range(2):
        await other.reap()
    granted = await only_grant(other)
    await finish(other, granted)
    await other.reap()

    assert granted.entry_id == entry_id
    assert not await redis.exists(f"{KEYS}owned:a")


@pytest.mark.parametrize("earlier", [0, 1])
async def test_an_idle_worker_is_woken_by_the_next_entry(
    redis: Redis, worker: NewWorker, earlier: int
) -> None:
    """Before the first entry ever, the newest id of the stream is 0-0: no reason to read again at once."""
    lanes = await worker("a")
    await publish(redis, *[event("before")] * earlier)
    await lanes.read(5)
    idle = await lanes.read(5)
    waiting = asyncio.create_task(lanes.wait_for_entries(idle.last_id, 30_000))
    await publish(redis, event("c"))
    await asyncio.wait_for(waiting, 5)

    assert idle.has_read_all
    assert (idle.last_id == "0-0") is not bool(earlier)


async def test_newer_entries_are_those_behind_one_in_its_lane(redis: Redis, worker: NewWorker) -> None:
    """Oldest first, of this conversation only, and reading them changes nothing."""
    lanes = await worker("a")
    ids = await publish(redis, *(event("c", number) for number in range(3)), event("another"))
    (grant, other) = (await lanes.read(10)).grants
    found = await newer(lanes, grant.entry_id, grant.lane)
    again = await newer(lanes, grant.entry_id, grant.lane)

    assert [each.entry_id for each in found] == ids[1:3]
    assert [each.message_id for each in found] == ["m1", "m2"]
    assert again == found
    assert await newer(lanes, other.entry_id, other.lane) == ()
    assert await newer(lanes, ids[2], grant.lane) == ()
    following = await finish(lanes, grant)
    assert following is not None
    assert following.entry_id == ids[1]


async def test_newer_entries_are_bounded_in_number_and_size(redis: Redis, worker: NewWorker) -> None:
    """One long conversation does not fill the worker's memory; at least one entry is always returned."""
    lanes = await worker("a")
    half = event("c", text="x" * (KEEP_BYTES // 2))
    ids = await publish(redis, event("c"), *(half for _ in range(3)), event("d"), *[event("d")] * 150)
    grants = {grant.entry_id: grant for grant in (await lanes.read(500)).grants}
    large, many = [await newer(lanes, entry_id, grants[entry_id].lane) for entry_id in (ids[0], ids[4])]

    assert [each.entry_id for each in large] == ids[1:2]
    assert len(many) == KEEP_BYTES // len(json.dumps(event("d")))


@pytest.mark.parametrize(
    "changes",
    [{"message_id": None}, {"author_id": ["ann"]}, {"text": 7}, {"created_at": "2001-01-01T00:00:00Z"}],
    ids=json.dumps,
)
async def test_a_waiting_entry_that_becomes_a_dead_letter_is_no_event(
    redis: Redis, worker: NewWorker, changes: dict[str, Any]
) -> None:
    """A person's message that will be refused takes no conversation, and no message waits for it."""
    lanes = await worker("a")
    await publish(redis, event("c"), event("c", 2, type="agent_message", **changes))
    read = await lanes.read(10)
    (grant,) = read.grants

    assert read.agent_messages == ()
    assert await newer(lanes, grant.entry_id, grant.lane) == ()


async def test_a_waiting_entry_of_another_shard_is_no_event(redis: Redis) -> None:
    """The entry becomes a dead letter, also where people's messages are read before their turn."""
    mine = shard_number("account", "c", 2)
    lanes = Lanes(redis, stream=STREAM, worker="a", keep_bytes=KEEP_BYTES, mark=f"@{1 - mine}/2")
    await lanes.prepare()
    await lanes.heartbeat(60_000)
    await publish(redis, event("c"), event("c", 2, type="agent_message"))
    read = await lanes.read(10)
    (grant,) = read.grants

    assert read.agent_messages == ()
    assert isinstance(grant.event, PayloadRejected)
    assert grant.event.code == "wrong_shard"


async def test_a_bug_in_the_parser_costs_its_entry_only(
    redis: Redis, worker: NewWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other entries of the same READ run; this one becomes a dead letter without further runs."""
    lanes = await worker("a")

    def fails(payload: bytes, arrival: Arrival) -> Event:
        if b"boom" in payload:
            raise ZeroDivisionError
        return parse(payload, arrival)

    monkeypatch.setattr(received, "parse", fails)
    await publish(redis, event("c", text="boom"), event("d"))
    found = {grant.lane: grant.event for grant in (await lanes.read(10)).grants}
    bug, other = (found[lane_of("account", conversation)] for conversation in "cd")

    assert isinstance(bug, PayloadRejected)
    assert (bug.code, bug.got) == ("poison", "ZeroDivisionError while it was parsed")
    assert isinstance(other, Event)


async def test_a_newer_entry_that_another_client_deleted_is_left_out(redis: Redis, worker: NewWorker) -> None:
    """As is one without a payload."""
    lanes = await worker("a")
    ids = await publish(redis, *(event("c", number) for number in range(3)))
    (grant,) = (await lanes.read(10)).grants
    await redis.xdel(STREAM, ids[1])

    assert [each.entry_id for each in await newer(lanes, grant.entry_id, grant.lane)] == ids[2:]


@pytest.mark.parametrize(
    "body",
    [{"type": "agent_message"}, {"role": "agent"}, {"type": "message", "role": "agent"}],
    ids=json.dumps,
)
@pytest.mark.parametrize("enveloped", [False, True])
async def test_read_names_messages_of_people_that_wait(
    redis: Redis, worker: NewWorker, body: dict[str, str], enveloped: bool
) -> None:
    """A takeover must not wait for the turn of its message; one that runs at once needs no notice."""
    lanes = await worker("a")
    said = event("c", 2, author_id="ann", **body)
    if enveloped:
        said = {"specversion": "1.0", "id": "1", "source": "/s", "type": "message", "data": said}
    await publish(redis, event("c", 1), event("c", 3, type="message_edited"))
    (agent_id,) = await publish(redis, said)
    await publish(redis, event("alone", 1, **body))
    agents = (await lanes.read(10)).agent_messages

    assert [(each.entry_id, each.type) for each in agents] == [(agent_id, EventType.AGENT_MESSAGE)]
