"""Several streams of events: routing, sealing, doubling under load, and what every tool sees of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ResponseError

from sandbox.server import SandboxHandle
from tasks.entries.lookup import EntryState, find_entries
from tasks.fleet.state import load_fleet, load_stream_state
from tasks.lanes.engine import Engine
from tasks.lanes.stream import EntryGrant, Lanes, backlog, connect
from tasks.lanes.upkeep import EngineLimits
from tasks.publishing.publish import append, open_shards
from tasks.shards.agreement import SEAL, agree, current_layout, double, unfinished
from tasks.shards.engines import ShardEngines
from tasks.shards.lanes import ShardedLanes
from tasks.shards.layout import Shard, ShardLayout
from tests.support.running import Running, eventually, running
from worker.errors import ConfigurationError, StreamSealed
from worker.places import Places
from worker.settings import StreamSettings

STREAM = "hushgate:events"
EVENTS, CONVERSATIONS = 3000, 40
IN_FLIGHT = 64


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """A client of the empty server."""
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
async def own(redis_url: str) -> AsyncIterator[AsyncRedis]:
    """A worker's client."""
    async with connect(redis_url) as client:
        yield client


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A worker with three shards."""
    with running(database_url, redis_url, sandbox, HUSHGATE_SHARDS="3") as found:
        yield found


def payload(conversation: str, number: int) -> bytes:
    return json.dumps({"user_id": "u", "conversation_id": conversation, "n": number}).encode()


class Recorder:
    """A handler that notes what it ran, and two events of a conversation at the same time."""

    def __init__(self) -> None:
        self.order: dict[str, list[int]] = defaultdict(list)
        self.shards: set[str] = set()
        self.collisions = 0
        self._running: set[str] = set()

    async def __call__(self, grant: EntryGrant) -> None:
        """Run one event, which takes a millisecond."""
        body = json.loads(grant.payload)
        conversation = body["conversation_id"]
        self.collisions += conversation in self._running
        self._running.add(conversation)
        await asyncio.sleep(0.001)
        self._running.discard(conversation)
        self.order[conversation].append(body["n"])
        self.shards.add(grant.entry_id.partition("@")[2])


def until_empty(redis: Redis) -> None:
    """Return when no shard holds an entry."""

    def is_empty() -> bool:
        streams = current_layout(redis, STREAM).streams()
        return not any(redis.xlen(each.key) for each in streams)

    eventually(is_empty, "empty shards")


def engines(own: AsyncRedis, worker: str, handle: Recorder, shards: int | None = None) -> ShardEngines:
    """The engines of one worker without a database."""
    lanes = ShardedLanes(own, stream=STREAM, worker=worker, keep_bytes=4096)
    places = Places(IN_FLIGHT)
    limits = EngineLimits(in_flight=IN_FLIGHT, heartbeat_ttl_s=2.0, redis_pause_s=0.01)

    def open_engine(of_shard: Lanes) -> Engine:
        return Engine(of_shard, handle, limits, places=places)

    return ShardEngines(lanes, places, open_engine, shards=shards)


async def test_doubling_under_load_keeps_the_order(redis_url: str, redis: Redis, own: AsyncRedis) -> None:
    """While two publishers and two workers go on, 1 shard becomes 2, then 4: each event once, in order."""
    seen, published, doubled = Recorder(), threading.Semaphore(0), threading.Event()
    workers = [engines(own, name, seen) for name in ("a", "b")]
    runs = [asyncio.create_task(each.run()) for each in workers]

    def publish(part: int) -> None:
        with Redis.from_url(redis_url) as client:
            for number in range(EVENTS // CONVERSATIONS):
                if number == EVENTS // CONVERSATIONS - 1:
                    assert doubled.wait(60)  # else the last shards would get nothing on a busy machine
                for conversation in range(part, CONVERSATIONS, 2):
                    append(client, [payload(f"c{conversation}", number)])
                    published.release()

    def double_twice() -> None:
        for third in range(2):
            for _ in range(EVENTS // 3):
                published.acquire()
            eventually(lambda: not unfinished(redis, current_layout(redis, STREAM)), "an earlier doubling")
            assert double(redis, STREAM).shards == 2 * 2**third
        doubled.set()

    parts = (asyncio.to_thread(publish, part) for part in (0, 1))
    await asyncio.gather(*parts, asyncio.to_thread(double_twice))
    await asyncio.to_thread(until_empty, redis)
    counted = await backlog(own, STREAM)
    for each in workers:
        each.drain()
    await asyncio.gather(*runs)

    in_order = list(range(EVENTS // CONVERSATIONS))
    assert dict(seen.order) == {f"c{number}": in_order for number in range(CONVERSATIONS)}
    assert seen.collisions == 0
    assert {"", "0/2", "0/4", "1/4", "2/4", "3/4"} <= seen.shards
    assert (counted["accepted"], counted["vanished"]) == (EVENTS, 0)


async def test_a_new_worker_drains_sealed_shards_first(redis: Redis, own: AsyncRedis) -> None:
    """Entries of a sealed shard come first, also for a worker that never knew it."""
    append(redis, [payload("c", number) for number in range(5)])
    double(redis, STREAM)
    append(redis, [payload("c", number) for number in range(5, 9)])
    seen = Recorder()
    worker = engines(own, "a", seen)
    run = asyncio.create_task(worker.run())
    await asyncio.to_thread(until_empty, redis)
    worker.drain()
    await run

    assert seen.order == {"c": list(range(9))}
    assert seen.shards == {"", ShardLayout(stream=STREAM, epochs=(1, 2)).shard_of(payload("c", 0)).mark[1:]}


def test_nobody_can_add_to_a_sealed_shard(redis: Redis) -> None:
    """A publisher in any language that knows the old shards has an error; ours waits for the switch."""
    append(redis, [payload("c", 0)])
    double(redis, STREAM)

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        redis.xadd(STREAM, {"data": payload("c", 1)})
    (entry_id,) = append(redis, [payload("c", 1)])
    assert entry_id.partition("@")[2].endswith("/2")


def test_an_interrupted_doubling_stops_publishers_until_it_is_repeated(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between seal and switch nothing can be published out of order; the same command ends that."""
    monkeypatch.setattr("tasks.publishing.publish.SEALED_S", 0.05)
    append(redis, [payload("c", 0)])
    one = Shard(stream=STREAM)
    redis.eval(SEAL, 2, one.name, one.sealed, "notice")

    with pytest.raises(StreamSealed) as refused:
        append(redis, [payload("c", 1)])
    assert refused.value.published == ()
    assert double(redis, STREAM).shards == 2
    assert append(redis, [payload("c", 1)])


@pytest.mark.parametrize("counted", [True, False], ids=["the command counts", "a worker counts"])
async def test_a_seal_that_a_failover_lost_is_made_again(
    redis: Redis, own: AsyncRedis, counted: bool
) -> None:
    """The replica had the stream under its first name, and a worker made an empty one under the new name."""
    append(redis, [payload("c", number) for number in range(5)])
    double(redis, STREAM)
    one = Shard(stream=STREAM)
    open_shards(redis, STREAM, None)
    redis.delete(one.name)
    redis.rename(one.sealed, one.name)
    redis.xgroup_create(one.sealed, "hushgate", mkstream=True)
    append(redis, [payload("c", 5)])
    left = {one: 5}
    if counted:
        left = unfinished(redis, current_layout(redis, STREAM))
    seen = Recorder()
    worker = engines(own, "a", seen)
    run = asyncio.create_task(worker.run())
    await asyncio.to_thread(until_empty, redis)
    worker.drain()
    await run

    assert left == {one: 5}
    assert seen.order == {"c": list(range(6))}


def test_a_second_seal_never_replaces_events(redis: Redis) -> None:
    """Events under both keys, which only a deletion by hand makes, are an error and stay."""
    append(redis, [payload("c", 0)])
    double(redis, STREAM)
    one = Shard(stream=STREAM)
    redis.delete(one.name)
    redis.xadd(one.name, {"data": payload("c", 1)})

    with pytest.raises(ResponseError, match="both keys"):
        unfinished(redis, current_layout(redis, STREAM))
    assert (redis.xlen(one.name), redis.xlen(one.sealed)) == (1, 1)


async def test_a_shard_without_figures_is_no_imbalance(
    database_url: str, redis_url: str, redis: Redis, own: AsyncRedis
) -> None:
    """What an unreadable shard accepted is not known, be it the first one, from when there was one."""
    double(redis, STREAM)
    settings = StreamSettings.model_validate({"REDIS_URL": redis_url})
    whole = await load_fleet(settings, database_url)
    redis.set(f"{Shard(stream=STREAM).prefix}workers", "no set")
    state = await load_stream_state(own, STREAM)
    partial = await load_fleet(settings, database_url)

    assert whole.imbalance is not None
    assert {each.name: each.up for each in state.shards} == {
        Shard(stream=STREAM).sealed: False,
        f"{STREAM}:0/2": True,
        f"{STREAM}:1/2": True,
    }
    assert (partial.imbalance, dict(partial.errors)) == (None, {})


def test_a_second_doubling_waits_for_the_first(redis: Redis) -> None:
    """Shards that still drain are never sealed a second time."""
    append(redis, [payload("c", 0)])
    double(redis, STREAM)

    with pytest.raises(ConfigurationError, match="1 events of the last doubling"):
        double(redis, STREAM)


def test_the_number_is_agreed_at_first_use(redis: Redis) -> None:
    """The first process that names a number sets it; events in one stream are never left behind."""
    assert agree(redis, STREAM, 4).shards == agree(redis, STREAM, None).shards == 4
    with pytest.raises(ConfigurationError, match="expected 4"):
        open_shards(redis, STREAM, 2)
    append(redis, [payload("c", 0)], stream="older")
    with pytest.raises(ConfigurationError, match="expected 1"):
        agree(redis, "older", 4)


async def test_a_worker_follows_a_number_that_is_agreed_later(redis: Redis, own: AsyncRedis) -> None:
    """A worker without a number that came first reads the shards of the process that names one."""
    seen = Recorder()
    worker = engines(own, "a", seen)
    run = asyncio.create_task(worker.run())
    await asyncio.to_thread(eventually, lambda: redis.exists(STREAM), "the one stream")
    agree(redis, STREAM, 2)
    append(redis, [payload(f"c{number}", 0) for number in range(10)])
    await asyncio.to_thread(until_empty, redis)
    worker.drain()
    await run

    assert len(seen.order) == 10
    assert seen.shards == {"0/2", "1/2"}


async def test_a_worker_with_another_number_ends(redis: Redis, own: AsyncRedis) -> None:
    """Its process ends with the message instead of reading other streams than the publishers use."""
    agree(redis, STREAM, 4)

    with pytest.raises(ConfigurationError, match="HUSHGATE_SHARDS: expected 4"):
        await engines(own, "a", Recorder(), shards=2).run()


def test_decisions_over_three_shards(engine: Running) -> None:
    """Events of all shards are decided with unique entry ids; one in a wrong shard is a dead letter."""
    user_id = engine.account(flagged_keywords=["spam"])
    eventually(lambda: current_layout(engine.redis, STREAM).shards == 3, "the shards")
    events = [engine.publish(user_id, "spam") for _ in range(12)]
    for event_id in events:
        engine.decided(user_id, event_id)
    ids = dict.fromkeys(("event_id", "conversation_id", "message_id", "author_id"), "misplaced")
    event = {"user_id": user_id, "scope": "chat", "text": "spam", "created_at": "2026-11-20T10:00:00Z"}
    body = json.dumps(ids | event)
    right = current_layout(engine.redis, STREAM).shard_of(body.encode())
    wrong = Shard(stream=STREAM, number=(right.number + 1) % 3, of=3)
    engine.redis.xadd(wrong.name, {"data": body})
    letter = eventually(lambda: engine.row("SELECT * FROM dead_letters"), "the dead letter")

    marks = {row["entry_id"].partition("@")[2] for row in engine.rows("SELECT entry_id FROM event_keys")}
    assert marks == {"0/3", "1/3", "2/3"}
    assert letter["reason_code"] == "wrong_shard"
    assert letter["entry_id"].endswith(wrong.mark)


def test_an_event_is_found_in_its_shard(redis: Redis) -> None:
    """``hushgate explain`` reads every shard, sealed ones too."""
    append(redis, [payload("c", 0)])
    double(redis, STREAM)
    (later,) = append(redis, [payload("c", 1)])

    found = find_entries(redis, STREAM, later, progress=lambda *_: None)

    assert [(later, EntryState.UNREAD)] == [(each.entry_id, each.state) for each in found]
