"""The engine on a real Redis with handlers of the test's own: limits, drains, lost replies, bugs."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.fairness.shares import ANY_ACCOUNT, ReadPlan
from tasks.lanes.engine import Engine, Handler
from tasks.lanes.stream import GROUP, EntryGrant, Lanes, ReadResult
from tasks.lanes.upkeep import EngineLimits
from tasks.shards.clients import connect

STREAM = "test:events"
PATIENCE_S = 60.0


def lanes_of(redis: Redis, worker: str = "a") -> Lanes:
    """A worker's view of the test's stream."""
    return Lanes(redis, stream=STREAM, worker=worker, keep_bytes=4096)


def limits(*, in_flight: int = 100, drain_s: float = 30.0) -> EngineLimits:
    """Quick to notice an outage."""
    return EngineLimits(in_flight=in_flight, heartbeat_ttl_s=2.0, drain_s=drain_s, redis_pause_s=0.01)


async def publish(redis: Redis, events: int, conversations: int) -> dict[str, list[str]]:
    """Append events round robin; the entry ids of each conversation, in order."""
    ids = defaultdict(list)
    for number in range(events):
        conversation = f"c{number % conversations}"
        body = json.dumps({"user_id": "u", "conversation_id": conversation})
        ids[conversation].append(cast("bytes", await redis.xadd(STREAM, {"data": body})).decode())
    return ids


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return when a condition holds; an unreachable server counts as not yet."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                if await condition():
                    return
            except (RedisError, OSError):
                pass
            await asyncio.sleep(0.005)


async def is_empty(redis: Redis) -> bool:
    """True when the stream holds nothing."""
    return await redis.xlen(STREAM) == 0


async def pending(redis: Redis) -> int:
    """Entries read and not finished."""
    return int((await redis.xpending(STREAM, GROUP))["pending"])


async def run_until_empty(engine: Engine, redis: Redis) -> None:
    """Run an engine until the stream is empty, then drain it."""
    running = asyncio.create_task(engine.run())
    await until(lambda: is_empty(redis))
    engine.drain()
    await running


class Recorder:
    """A handler that notes what it was handed, by conversation."""

    def __init__(self) -> None:
        self.seen: dict[str, list[str]] = defaultdict(list)

    async def __call__(self, grant: EntryGrant) -> None:
        """Note one grant."""
        self.seen[json.loads(grant.payload)["conversation_id"]].append(grant.entry_id)


def blocked(release: asyncio.Event) -> Handler:
    """A handler that returns when ``release`` is set."""

    async def handle(_: EntryGrant) -> None:
        await release.wait()

    return handle


class CountedReads(Lanes):
    """Lanes that count their READs."""

    reads = 0

    async def read(self, limit: int, plan: ReadPlan = ANY_ACCOUNT) -> ReadResult:
        """As the lanes."""
        self.reads += 1
        return await super().read(limit, plan)


async def test_a_lonely_event_takes_one_read(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """The READ that grants it also says that nothing else is there."""
    monkeypatch.setattr("tasks.lanes.engine.IDLE_BLOCK_MS", 5_000)
    handled = asyncio.Queue[EntryGrant]()
    lanes = CountedReads(redis, stream=STREAM, worker="a", keep_bytes=4096)
    engine = Engine(lanes, handled.put, limits())
    running = asyncio.create_task(engine.run())
    reads = []
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(4):
            await publish(redis, 1, 1)
            await handled.get()
            await until(lambda: is_empty(redis))
            reads.append(lanes.reads)
    engine.drain()
    await running

    assert [later - reads[0] for later in reads] == [0, 1, 2, 3]


async def test_events_are_handled_once_and_in_order(redis: Redis) -> None:
    """Two engines share a stream."""
    recorder = Recorder()
    expected = await publish(redis, 500, 20)
    engines = [Engine(lanes_of(redis, name), recorder, limits()) for name in ("a", "b")]
    await asyncio.gather(*(run_until_empty(engine, redis) for engine in engines))

    assert recorder.seen == expected


async def test_lost_replies_lose_nothing_and_order_holds(redis: Redis, redis_url: str) -> None:
    """Every connection is cut again and again: READ, FINISH and RELEASE lose requests and replies."""
    recorder = Recorder()
    expected = await publish(redis, 1500, 30)
    cuts = 0

    async def cut() -> bool:
        nonlocal cuts
        async with connect(redis_url) as client:
            cuts += int(await client.client_kill_filter(_type="normal", skipme=True))
            return await is_empty(client)

    engine = Engine(lanes_of(redis), recorder, limits())
    running = asyncio.create_task(engine.run())
    await until(cut)
    engine.drain()
    await running
    first_seen = {name: list(dict.fromkeys(ids)) for name, ids in recorder.seen.items()}

    assert cuts > 10
    assert first_seen == expected


async def test_no_more_lanes_run_than_the_limit_allows(redis: Redis) -> None:
    """Beyond it nothing is read: the stream holds the rest."""
    release = asyncio.Event()
    await publish(redis, 40, 40)
    engine = Engine(lanes_of(redis), blocked(release), limits(in_flight=7))
    running = asyncio.create_task(engine.run())

    async def is_full() -> bool:
        return engine.in_flight >= 7 and await pending(redis) >= 7

    await until(is_full)
    in_flight, read = engine.in_flight, await pending(redis)
    release.set()
    await until(lambda: is_empty(redis))
    engine.drain()
    await running

    assert (in_flight, read) == (7, 7)


class Evicted(CountedReads):
    """Lanes whose group is gone before each READ, as on a Redis that evicts keys."""

    async def prepare(self) -> None:
        """As the lanes; then the stream goes."""
        await super().prepare()
        await self.redis.delete(STREAM)


async def test_a_stream_that_is_evicted_again_and_again_is_read_with_pauses(redis: Redis) -> None:
    """Each failed READ is a line of the log: without pauses there were 500 a second."""
    lanes = Evicted(redis, stream=STREAM, worker="a", keep_bytes=4096)
    engine = Engine(lanes, Recorder(), EngineLimits(redis_pause_s=0.1))
    running = asyncio.create_task(engine.run())
    await asyncio.sleep(0.35)
    engine.drain()
    await running

    assert 1 <= lanes.reads <= 4


async def test_nothing_is_admitted_while_something_that_all_need_is_down(redis: Redis) -> None:
    """``may_admit`` is called before every READ."""
    recorder, asked = Recorder(), 0

    def may_admit() -> bool:
        nonlocal asked
        asked += 1
        return False

    await publish(redis, 3, 3)
    engine = Engine(lanes_of(redis), recorder, limits(), may_admit)
    running = asyncio.create_task(engine.run())

    async def was_asked() -> bool:
        return asked > 3

    await until(was_asked)
    engine.drain()
    await running

    assert recorder.seen == {}
    assert await redis.xlen(STREAM) == 3


async def test_a_drain_waits_for_what_runs_and_admits_nothing_more(redis: Redis) -> None:
    """What runs ends with FINISH; the lane's next entry is left to others."""
    release = asyncio.Event()
    (ids,) = (await publish(redis, 2, 1)).values()
    engine = Engine(lanes_of(redis), blocked(release), limits())
    running = asyncio.create_task(engine.run())

    async def runs() -> bool:
        return engine.in_flight == 1

    await until(runs)
    engine.drain()
    release.set()
    await running
    other = lanes_of(redis, "b")
    (grant,) = (await other.read(10)).grants

    assert (grant.entry_id, grant.starts) == (ids[1], 1)


async def test_what_does_not_end_in_time_is_given_back_without_counting_as_a_start(redis: Redis) -> None:
    """After ``drain_s`` the worker leaves; others need not wait for its heartbeat."""
    (ids,) = (await publish(redis, 1, 1)).values()
    engine = Engine(lanes_of(redis), blocked(asyncio.Event()), limits(drain_s=0.01))
    running = asyncio.create_task(engine.run())

    async def runs() -> bool:
        return engine.in_flight == 1

    await until(runs)
    engine.drain()
    await running
    (grant,) = (await lanes_of(redis, "b").read(10)).grants

    assert (grant.entry_id, grant.starts) == (ids[0], 1)


async def test_a_handler_that_crashes_gets_its_entry_again(redis: Redis) -> None:
    """What rises from a handler is logged; the entry comes back and its lane goes on."""
    recorder, failures = Recorder(), 0
    expected = await publish(redis, 4, 2)

    async def handle(grant: EntryGrant) -> None:
        nonlocal failures
        if failures < 5:
            failures += 1
            raise RuntimeError("a bug")
        await recorder(grant)

    await run_until_empty(Engine(lanes_of(redis), handle, limits()), redis)

    assert recorder.seen == expected


async def test_a_bug_in_what_keeps_the_worker_alive_ends_the_engine_loudly(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker without heartbeat or FINISH is worse than none: the engine raises and gives its lanes back."""
    (ids,) = (await publish(redis, 1, 1)).values()
    lanes, started = lanes_of(redis), asyncio.Event()

    async def handle(_: EntryGrant) -> None:
        started.set()
        await asyncio.Event().wait()

    async def buggy_repair(_cursor: str) -> tuple[str, int]:
        await started.wait()
        raise RuntimeError("a bug")

    monkeypatch.setattr(lanes, "repair", buggy_repair)
    engine = Engine(lanes, handle, limits())
    with pytest.raises(RuntimeError, match="a bug"):
        await engine.run()
    (grant,) = (await lanes_of(redis, "b").read(10)).grants

    assert (grant.entry_id, grant.starts) == (ids[0], 1)


async def test_a_lane_that_redis_counts_as_ours_and_nobody_runs_is_found_by_the_audit(redis: Redis) -> None:
    """A READ that the network delivered late grants lanes to a worker that no longer waits for the reply."""
    recorder = Recorder()
    lanes = lanes_of(redis)
    engine = Engine(lanes, recorder, limits())
    running = asyncio.create_task(engine.run())
    await publish(redis, 1, 1)
    await until(lambda: is_empty(redis))
    expected = dict(recorder.seen)
    await redis.xgroup_setid(STREAM, GROUP, "$")
    body = json.dumps({"user_id": "u", "conversation_id": "late"})
    async with redis.pipeline(transaction=True) as pipe:  # the engine's own READ cannot come between
        pipe.xadd(STREAM, {"data": body})
        pipe.evalsha(lanes._read.sha, 1, STREAM, GROUP, "a", 10, 4096, 4096)
        entry_id = cast("bytes", (await pipe.execute())[0]).decode()
    await until(lambda: is_empty(redis))
    engine.drain()
    await running

    assert recorder.seen == expected | {"late": [entry_id]}


async def test_a_fresh_engine_takes_over_within_a_second_of_the_end_of_a_heartbeat(redis: Redis) -> None:
    """A worker that has just started need not have lived for a TTL of its own."""
    recorder, dead = Recorder(), lanes_of(redis, "dead")
    expected = await publish(redis, 4, 2)
    await dead.prepare()
    await dead.heartbeat(1000)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await dead.read(10)
    quiet = EngineLimits(heartbeat_ttl_s=8.0, redis_pause_s=0.01)
    await run_until_empty(Engine(lanes_of(redis, "fresh"), recorder, quiet), redis)
    took_s = loop.time() - begun

    assert recorder.seen == expected
    assert 0.9 < took_s < 3.0  # the heartbeat's second, and one; the rest is a busy machine's
