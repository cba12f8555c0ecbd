"""Several streams of events: routing, sealing, doubling, and what every tool sees of it."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ResponseError

from bench.failover_valkey import Pair
from sandbox.server import SandboxHandle
from tasks.alerts.conditions import server_away
from tasks.alerts.situation import load_situation
from tasks.fleet.state import load_stream_state
from tasks.lanes.engine import Engine
from tasks.lanes.lookup import EntryState, find_entries
from tasks.lanes.stream import EntryGrant, Lanes
from tasks.lanes.upkeep import EngineLimits
from tasks.publishing.publish import append, open_shards
from tasks.shards.agreement import SEAL, agree, current_layout, double
from tasks.shards.backlog import backlog
from tasks.shards.clients import connect
from tasks.shards.engines import ShardEngines
from tasks.shards.lanes import ShardedLanes
from tasks.shards.layout import Shard
from tests.support.running import Running, eventually, running
from tests.support.samples import body_of
from tests.support.terminal import Shell
from worker.errors import ConfigurationError, StreamSealed
from worker.places import Places
from worker.settings import StreamSettings

STREAM = "hushgate:events"
EVENTS, CONVERSATIONS = 3000, 40
IN_FLIGHT = 64


@pytest.fixture
async def own(redis_url: str) -> AsyncIterator[AsyncRedis]:
    """A worker's client."""
    async with connect(redis_url) as client:
        yield client


@pytest.fixture
def shell(redis_url: str, tmp_path: Path) -> Shell:
    """Commands on the empty server."""
    return Shell(environment={"REDIS_URL": redis_url}, folder=tmp_path)


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


def until_empty(valkey: Redis) -> None:
    """Return when no shard holds an entry."""

    def is_empty() -> bool:
        streams = current_layout(valkey, STREAM).streams()
        return not any(valkey.xlen(each.key) for each in streams)

    eventually(is_empty, "empty shards")


def until_doubled(valkey: Redis) -> None:
    """Return when there are twice as many shards."""
    eventually(lambda: double(valkey, STREAM)[1] == 0, "the doubling")


def engines(own: AsyncRedis, worker: str, handle: Recorder, shards: int | None = None) -> ShardEngines:
    """The engines of one worker without a database."""
    lanes = ShardedLanes(own, stream=STREAM, worker=worker, keep_bytes=4096)
    places = Places(IN_FLIGHT)
    limits = EngineLimits(in_flight=IN_FLIGHT, heartbeat_ttl_s=2.0, redis_pause_s=0.01)

    def open_engine(of_shard: Lanes) -> Engine:
        return Engine(of_shard, handle, limits, places=places)

    return ShardEngines(lanes, places, open_engine, shards=shards)


async def test_doubling_between_two_loads_keeps_the_order(
    redis_url: str, valkey: Redis, own: AsyncRedis
) -> None:
    """A publisher pauses until every event is decided, and 1 shard becomes 2, then 4: each once, in order.

    The workers run on, and the publisher finds the new number.
    """
    seen, rounds = Recorder(), EVENTS // CONVERSATIONS
    workers = [engines(own, name, seen) for name in ("a", "b")]
    runs = [asyncio.create_task(each.run()) for each in workers]

    def publish() -> None:
        with Redis.from_url(redis_url) as client:
            for number in range(rounds):
                if number and number % (rounds // 3) == 0:
                    until_doubled(valkey)
                append(client, [payload(f"c{each}", number) for each in range(CONVERSATIONS)])

    await asyncio.to_thread(publish)
    await asyncio.to_thread(until_empty, valkey)
    counted = await backlog(own, STREAM)
    for each in workers:
        each.drain()
    await asyncio.gather(*runs)

    assert dict(seen.order) == {f"c{number}": list(range(rounds)) for number in range(CONVERSATIONS)}
    assert seen.collisions == 0
    assert {"", "0/2", "1/2", "0/4", "1/4", "2/4", "3/4"} <= seen.shards
    assert (counted["accepted"], counted["vanished"]) == (EVENTS, 0)


def test_shards_with_events_are_not_doubled(valkey: Redis) -> None:
    """The number of events that are left is the answer; workers and publishers go on as before."""
    append(valkey, [payload("c", 0), payload("c", 1)])

    layout, left = double(valkey, STREAM)

    assert (layout.shards, left) == (1, 2)
    assert append(valkey, [payload("c", 2)])[0].partition("@")[2] == ""
    assert valkey.xlen(STREAM) == 3


def test_the_command_waits_for_the_events(shell: Shell, valkey: Redis) -> None:
    """Exit 1 while an event is left, and 0 with the new number when none is."""
    (entry_id,) = append(valkey, [payload("c", 0)])
    refused = shell.run("shards", "double", "--yes", "--timeout", "0")
    valkey.xdel(STREAM, entry_id)
    doubled = shell.run("shards", "double", "--yes")

    assert (refused.code, refused.rows) == (1, [{"shards": 1, "unfinished": 1}])
    assert (doubled.code, doubled.rows) == (0, [{"shards": 2, "unfinished": 0}])


def test_the_command_asks_before_it_doubles(shell: Shell, valkey: Redis) -> None:
    """The earlier number cannot be had back; without a terminal the answer is an option."""
    refused = shell.run("shards", "double")

    assert (refused.code, "add --yes" in refused.err) == (2, True)
    assert [row["sealed"] for row in shell.run("shards").rows] == [False]


def test_nobody_can_add_to_a_sealed_shard(valkey: Redis) -> None:
    """A publisher in any language that knows the old shards has an error; ours waits for the switch."""
    double(valkey, STREAM)

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        valkey.xadd(STREAM, {"data": payload("c", 1)})
    (entry_id,) = append(valkey, [payload("c", 1)])
    assert entry_id.partition("@")[2].endswith("/2")


def test_retention_names_each_shard(shell: Shell, url: str, valkey: Redis) -> None:
    """After a doubling the name of the stream is no stream any more."""
    double(valkey, STREAM)
    shown = shell.run("retention", "show", env={"DATABASE_URL": url})
    names = [row["table"] for row in shown.rows if row["table"].startswith(STREAM)]

    assert (shown.code, names) == (0, [f"{STREAM}:0/2", f"{STREAM}:1/2"])


def test_an_interrupted_doubling_stops_publishers_until_it_is_repeated(
    valkey: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between seal and switch nothing can be published out of order; the same command ends that."""
    monkeypatch.setattr("tasks.publishing.publish.SEALED_S", 0.05)
    one = Shard(stream=STREAM)
    valkey.eval(SEAL, 2, one.name, one.sealed, "notice")

    with pytest.raises(StreamSealed) as refused:
        append(valkey, [payload("c", 1)])
    assert refused.value.published == ()
    assert double(valkey, STREAM)[0].shards == 2
    assert append(valkey, [payload("c", 1)])


def test_shards_are_doubled_when_a_replica_has_the_seals() -> None:
    """After a failover that lost a seal, a publisher with the old number would add what no worker reads."""
    with Pair({}) as pair, Redis.from_url(pair.url) as primary:
        pair.part()
        with pytest.raises(ConfigurationError, match="no replica of hushgate:events"):
            double(primary, STREAM)
        kept = current_layout(primary, STREAM)
    with Pair({}) as pair, Redis.from_url(pair.url) as primary:
        layout, left = double(primary, STREAM)

    assert kept.shards == 1
    assert (layout.shards, left) == (2, 0)


async def test_a_shard_without_figures_is_no_imbalance(
    database_url: str, redis_url: str, valkey: Redis, own: AsyncRedis
) -> None:
    """What an unreadable shard accepted is not known, be it the first one, from when there was one.

    It is an alert, and ends no alert that may still hold.
    """
    double(valkey, STREAM)
    settings = StreamSettings.model_validate({"REDIS_URL": redis_url})
    before = await load_situation(settings, database_url, workers=0)
    valkey.set(f"{Shard(stream=STREAM).prefix}workers", "no set")
    state = await load_stream_state(own, STREAM)
    after = await load_situation(settings, database_url, workers=0)
    partial = after.fleet

    assert (before.complete, after.complete) == (True, False)
    assert list(server_away(before)) == []
    assert list(server_away(after)) == [f"Redis does not answer for the shard {Shard(stream=STREAM).sealed}"]
    assert before.fleet.imbalance is not None
    assert {each.name: each.up for each in state.shards} == {
        Shard(stream=STREAM).sealed: False,
        f"{STREAM}:0/2": True,
        f"{STREAM}:1/2": True,
    }
    assert (partial.imbalance, dict(partial.errors)) == (None, {})


def test_the_number_is_agreed_at_first_use(valkey: Redis) -> None:
    """The first process that names a number sets it; events in one stream are never left behind."""
    assert agree(valkey, STREAM, 4).shards == agree(valkey, STREAM, None).shards == 4
    with pytest.raises(ConfigurationError, match="expected 4"):
        open_shards(valkey, STREAM, 2)
    append(valkey, [payload("c", 0)], stream="older")
    with pytest.raises(ConfigurationError, match="expected 1"):
        agree(valkey, "older", 4)


async def test_a_worker_follows_a_number_that_is_agreed_later(valkey: Redis, own: AsyncRedis) -> None:
    """A worker without a number that came first reads the shards of the process that names one."""
    seen = Recorder()
    worker = engines(own, "a", seen)
    run = asyncio.create_task(worker.run())
    await asyncio.to_thread(eventually, lambda: valkey.exists(STREAM), "the one stream")
    agree(valkey, STREAM, 2)
    append(valkey, [payload(f"c{number}", 0) for number in range(10)])
    await asyncio.to_thread(until_empty, valkey)
    worker.drain()
    await run

    assert len(seen.order) == 10
    assert seen.shards == {"0/2", "1/2"}


async def test_a_worker_with_another_number_ends(valkey: Redis, own: AsyncRedis) -> None:
    """Its process ends with the message instead of reading other streams than the publishers use."""
    agree(valkey, STREAM, 4)

    with pytest.raises(ConfigurationError, match="HUSHGATE_SHARDS: expected 4"):
        await engines(own, "a", Recorder(), shards=2).run()


def test_decisions_over_three_shards(engine: Running) -> None:
    """Events of all shards are decided with unique entry ids; one in a wrong shard is a dead letter."""
    user_id = engine.account(flagged_keywords=["spam"])
    eventually(lambda: current_layout(engine.redis, STREAM).shards == 3, "the shards")
    events = [engine.publish(user_id, "spam") for _ in range(12)]
    for event_id in events:
        engine.decided(user_id, event_id)
    body = json.dumps(body_of("misplaced", user_id=user_id, text="spam"))
    right = current_layout(engine.redis, STREAM).shard_of(body.encode())
    wrong = Shard(stream=STREAM, number=(right.number + 1) % 3, of=3)
    engine.redis.xadd(wrong.name, {"data": body})
    letter = eventually(lambda: engine.row("SELECT * FROM dead_letters"), "the dead letter")

    marks = {row["entry_id"].partition("@")[2] for row in engine.rows("SELECT entry_id FROM event_keys")}
    assert marks == {"0/3", "1/3", "2/3"}
    assert letter["reason_code"] == "wrong_shard"
    assert letter["entry_id"].endswith(wrong.mark)


def test_an_event_is_found_in_its_shard(valkey: Redis) -> None:
    """``hushgate explain`` reads every shard, sealed ones too."""
    double(valkey, STREAM)
    (later,) = append(valkey, [payload("c", 1)])

    found = find_entries(valkey, STREAM, later, progress=lambda *_: None)

    assert [(later, EntryState.UNREAD)] == [(each.entry_id, each.state) for each in found]
