"""What a worker adds to its upstreams while it has little to do, and how soon it wakes up.

``python -m bench.low_load``. One event at a time, from XADD to the entry on the reply stream, with moderation
of message and reply, history, search, completion, assessment, commit and delivery. The upstreams' share is
the time of the same three calls, one after the other, by a bare aiohttp client in the same run. The wake-up
is the time from XADD to the handler of an idle engine.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import aiohttp
import uvloop
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from rich.console import Console
from rich.table import Table

from bench.engine import IN_FLIGHT, seed
from bench.load import REPLIES, STREAM, environment, event, has_worker, worker
from cli.stack import Stack
from sandbox.server import SandboxHandle, start
from tasks.lanes.engine import Engine
from tasks.lanes.stream import EntryGrant, Lanes
from tasks.lanes.upkeep import EngineLimits
from tasks.publishing.publish import publish_many
from tasks.shards.clients import connect

EVENTS = 300
WARM_UP = 30
UpstreamCall = tuple[str, dict[str, Any]]
"""Path and body."""
CALLS: tuple[UpstreamCall, ...] = (
    ("/moderations", {"model": "omni", "input": "Within how many days may a purchase be returned?"}),
    ("/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Within how many days?"}]}),
    ("/moderations", {"model": "omni", "input": "A purchase may be returned within thirty days."}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times in milliseconds."""

    name: str
    p50_ms: float
    p95_ms: float
    p99_ms: float


def times(name: str, took_ms: Sequence[float]) -> Times:
    """The percentiles of some times."""
    cuts = statistics.quantiles(took_ms, n=100)
    return Times(name=name, p50_ms=round(cuts[49], 2), p95_ms=round(cuts[94], 2), p99_ms=round(cuts[98], 2))


def replied(redis: Redis) -> list[float]:
    """Milliseconds from publishing an event to its reply, one event after the other."""
    took_ms, last = [], "0-0"
    for number in range(WARM_UP + EVENTS):
        begun = time.perf_counter()
        publish_many(redis, [event(number)])
        found = cast("Any", redis.xread({REPLIES: last}, count=1, block=30_000))
        took_ms.append((time.perf_counter() - begun) * 1000)
        last = found[0][1][0][0]
    return took_ms[WARM_UP:]


async def bare_calls(sandbox: SandboxHandle, calls: Sequence[UpstreamCall] = CALLS) -> list[float]:
    """Milliseconds of upstream calls in a row without anything else."""
    took_ms = []
    async with aiohttp.ClientSession() as session:
        for _ in range(WARM_UP + EVENTS):
            begun = time.perf_counter()
            for path, body in calls:
                async with session.post(sandbox.base_url + path, json=body) as response:
                    await response.read()
            took_ms.append((time.perf_counter() - begun) * 1000)
    return took_ms[WARM_UP:]


async def wake_ups(redis_url: str) -> list[float]:
    """Milliseconds from XADD to the handler of an engine that waits for entries."""
    took_ms: list[float] = []
    handled = asyncio.Event()

    async def handle(_grant: EntryGrant) -> None:
        took_ms.append((time.perf_counter() - begun) * 1000)
        handled.set()

    async with connect(redis_url) as redis:
        publisher = AsyncRedis.from_url(redis_url)
        lanes = Lanes(redis, stream=STREAM, worker="bench:1:0", keep_bytes=262_144)
        engine = Engine(lanes, handle, EngineLimits())
        running = asyncio.create_task(engine.run())
        for number in range(EVENTS):
            await asyncio.sleep(0.02)
            handled.clear()
            body = json.dumps(event(number))
            begun = time.perf_counter()
            await publisher.xadd(STREAM, {"data": body})
            await handled.wait()
        engine.drain()
        await running
        await publisher.aclose()
    return took_ms


def main() -> None:
    """Print one line a figure; JSON in a pipe."""
    with Stack() as stack, Redis.from_url(stack.redis_url) as redis, start() as sandbox:
        woken = times("idle wake-up", uvloop.run(wake_ups(stack.redis_url))[1:])
        redis.flushall()
        seed(stack)
        with worker(["tasks", "worker"], environment(stack, sandbox, IN_FLIGHT=IN_FLIGHT)) as watch:
            watch.until(lambda: has_worker(redis))
            before = uvloop.run(bare_calls(sandbox))
            whole = replied(redis)
            upstream = times("the three upstream calls", before + uvloop.run(bare_calls(sandbox)))
    added = times("added by the worker", [took - upstream.p50_ms for took in whole])
    found = [woken, upstream, times("message to reply", whole), added]
    if not sys.stdout.isatty():
        print(json.dumps([asdict(each) for each in found]))
        return
    shown = Table("", "p50 ms", "p95 ms", "p99 ms")
    for each in found:
        shown.add_row(*(f"{value}" for value in asdict(each).values()))
    Console().print(shown)


if __name__ == "__main__":
    main()
