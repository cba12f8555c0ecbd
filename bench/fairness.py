"""What the load of one account costs another: the time from event to reply, alone and beside neighbours.

A light account publishes at a low, constant rate. Its neighbour sends more than the worker can do, a burst,
or events that are held because their moderator is down. Times are differences of stream entry ids, so one
clock counts; an event without a reply counts with the time waited for it. Compare ratios within one run only:
machines differ and are not idle.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from redis import Redis
from rich.table import Table

from bench.load import (
    STREAM,
    WatchedWorker,
    add_account,
    entry_s,
    environment,
    event,
    has_worker,
    reply_ids,
    show,
    worker,
)
from cli.stack import Stack
from sandbox.server import start
from tasks.publishing.publish import publish_many

MODERATION_S, COMPLETION_S = 0.05, 0.2
LIGHT_PER_S = 4.0
BURST, HELD = 6_000, 600
STEP_S = 0.05
PATIENCE_S = 60.0
OUT = Path("out/fairness.json")
DOWN = '{"down": {"base_url": "http://127.0.0.1:9/v1", "model": "none", "format": "policy", "timeout_s": 5}}'
DOWN_MODERATOR = '[{"name": "down", "endpoint": "down", "failure": "hold", "policy": "No threats."}]'
ACCOUNTS = (("light", "[]"), ("heavy", "[]"), ("held", DOWN_MODERATOR))


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessResult:
    """The light account in one situation.

    Attributes:
        p50_s: from event to reply.
        neighbour_per_s: events of the neighbour finished per second meanwhile.
        cpu: share of one core that the worker used.
        p95_ratio: p95 beside the p95 alone.
    """

    name: str
    events: int
    p50_s: float
    p95_s: float
    neighbour_per_s: float
    cpu: float
    p95_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """What is published beside the light account: ``at_once`` first, then ``per_s`` all the time."""

    name: str
    account: str = "heavy"
    at_once: int = 0
    per_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class Bench:
    """Servers and options of one run."""

    stack: Stack
    redis: Redis
    environment: dict[str, str]
    seconds: float

    def measure(self, neighbour: Neighbour, alone_p95_s: float = 0.0) -> FairnessResult:
        """Run one worker beside a neighbour and time the light account's replies."""
        self.redis.flushall()
        with worker(["tasks", "worker"], self.environment) as watch:
            watch.until(lambda: has_worker(self.redis), 60)
            self._warm_up(watch)
            publish(self.redis, neighbour.account, neighbour.at_once)
            times, per_s, cpu = self._timed(watch, neighbour)
        p95_s = statistics.quantiles(times, n=20)[-1]
        return FairnessResult(
            name=neighbour.name,
            events=len(times),
            p50_s=round(statistics.median(times), 3),
            p95_s=round(p95_s, 3),
            neighbour_per_s=round(per_s, 1),
            cpu=round(cpu, 2),
            p95_ratio=round(p95_s / (alone_p95_s or p95_s), 2),
        )

    def _warm_up(self, watch: WatchedWorker) -> None:
        ids = publish(self.redis, "light", 5)
        watch.until(lambda: len(self._replies(ids)) == len(ids), PATIENCE_S)

    def _timed(self, watch: WatchedWorker, neighbour: Neighbour) -> tuple[list[float], float, float]:
        published: dict[str, str] = {}
        stop = threading.Event()
        begun, cpu_s = time.monotonic(), watch.cpu_s()
        ended_before = self._ended()
        paced = [threading.Thread(target=_at_rate, args=(LIGHT_PER_S, stop, self._light(published)))]
        if neighbour.per_s:
            send = self._batches(neighbour.account)
            paced.append(threading.Thread(target=_at_rate, args=(neighbour.per_s, stop, send)))
        for thread in paced:
            thread.start()
        stop.wait(self.seconds)
        took_s = time.monotonic() - begun
        per_s, cpu = (self._ended() - ended_before) / took_s, (watch.cpu_s() - cpu_s) / took_s
        stop.set()
        for thread in paced:
            thread.join()
        with contextlib.suppress(TimeoutError):
            watch.until(lambda: len(self._replies(published)) == len(published), PATIENCE_S)
        return self._times(published), per_s - LIGHT_PER_S, cpu

    def _times(self, published: dict[str, str]) -> list[float]:
        replied, (seconds, micros) = self._replies(published), self.redis.time()
        now = f"{seconds * 1000 + micros // 1000}-0"
        return [entry_s(replied.get(event, now)) - entry_s(entry) for event, entry in published.items()]

    def _ended(self) -> int:
        info = self.redis.xinfo_stream(STREAM)
        return int(info["entries-added"]) - int(info["length"])

    def _replies(self, events: dict[str, str]) -> dict[str, str]:
        found = reply_ids(self.redis)
        return {event: found[event] for event in events if event in found}

    def _light(self, published: dict[str, str]) -> Callable[[int], None]:
        def send(count: int) -> None:
            published.update(publish(self.redis, "light", count))

        return send

    def _batches(self, account: str) -> Callable[[int], None]:
        def send(count: int) -> None:
            publish(self.redis, account, count)

        return send


def _at_rate(per_s: float, stop: threading.Event, send: Callable[[int], None]) -> None:
    """Call ``send`` with what is due, until stopped."""
    begun, sent = time.monotonic(), 0
    while not stop.wait(STEP_S):
        due = int((time.monotonic() - begun) * per_s)
        if due > sent:
            send(due - sent)
            sent = due


def publish(redis: Redis, account: str, count: int) -> dict[str, str]:
    """Publish events of conversations of their own; event id -> entry id."""
    events = [event(os.urandom(6).hex(), user_id=account) for _ in range(count)]
    ids: list[str] = []
    for first in range(0, count, 500):
        ids += publish_many(redis, events[first : first + 500])
    return {each["event_id"]: entry for each, entry in zip(events, ids, strict=True)}


def seed(url: str) -> None:
    """The accounts, each with a document to answer from."""
    for account, moderators in ACCOUNTS:
        add_account(url, account, moderators=moderators)


def shown(results: list[FairnessResult]) -> Table:
    """The results for people."""
    table = Table("light account", "events", "p50 s", "p95 s", "p95 ratio", "neighbour/s", "CPU")
    for each in results:
        figures = (each.p50_s, each.p95_s, each.p95_ratio, each.neighbour_per_s, each.cpu)
        table.add_row(each.name, f"{each.events}", *(f"{figure}" for figure in figures))
    return table


def main(
    seconds: Annotated[float, typer.Option(help="length of each situation")] = 30.0,
    places: Annotated[int, typer.Option(help="HUSHGATE_IN_FLIGHT")] = 300,
    flood: Annotated[float, typer.Option(help="events per second of the neighbour")] = 250.0,
) -> None:
    """Run every situation; a table on a terminal, JSON in a pipe, JSON in ``out/fairness.json`` always."""
    options = ("--moderation-latency", str(MODERATION_S), "--chat-latency", str(COMPLETION_S))
    with Stack() as stack, Redis.from_url(stack.redis_url) as redis, start(options=options) as sandbox:
        seed(stack.database_url)
        variables = environment(stack, sandbox, CLASSIFIERS=DOWN, IN_FLIGHT=places, DRAIN_S=1)
        bench = Bench(stack=stack, redis=redis, environment=variables, seconds=seconds)
        alone = bench.measure(Neighbour(name="alone"))
        burst = bench.measure(Neighbour(name=f"beside a burst of {BURST}", at_once=BURST), alone.p95_s)
        neighbours = (
            Neighbour(name=f"beside {flood:g} events/s", per_s=flood),
            Neighbour(name=f"beside {HELD} held events", account="held", at_once=HELD),
        )
        results = [alone, burst, *(bench.measure(each, alone.p95_s) for each in neighbours)]
    load = round(os.getloadavg()[0], 1)
    document = {"places": places, "load": load, "results": [asdict(each) for each in results]}
    show(document, [shown(results)], OUT)


if __name__ == "__main__":
    typer.run(main)
