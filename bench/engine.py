"""The cost of an event: the bare engine compared with stock Celery, and the whole pipeline, in one run.

CPU is that of the worker process and its children, user and system, from the first event to the last; Redis
and the sandbox are other processes and not counted, Postgres is counted by itself. Compare ratios within one
run only: machines differ and are not idle.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import psutil
from redis import Redis
from rich.table import Table

from bench.load import (
    STREAM,
    WatchedWorker,
    add_account,
    environment,
    event,
    has_worker,
    require_replies,
    show,
    worker,
)
from bench.noop_celery import app as noop_app
from cli.stack import Stack
from sandbox.server import start
from tasks.publishing.publish import publish_many

ENGINE_EVENTS = 40_000
CELERY_EVENTS = 8_000
PIPELINE_EVENTS = 3_000
IN_FLIGHT = 1_500
MODERATION_S, COMPLETION_S = 0.2, 1.0
NO_JUDGE = {"JUDGE": "off"}
OUT = Path("out/bench.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """One way to run events.

    Attributes:
        cpu_ms: CPU of the worker per event, milliseconds.
        per_s: events a second, from the first published to the last finished.
        rss_mb: largest resident size of the worker's processes together.
        in_flight: most events that ran at once in the worker, if known.
        waiting_rss_mb: median resident size while no event had ended; of the whole pipeline only.
        moderation_requests: per check, of which a decision makes two; None without moderation.
        postgres_ms: CPU of Postgres per event, milliseconds; of the whole pipeline only.
    """

    name: str
    events: int
    cpu_ms: float
    per_s: float
    rss_mb: float
    in_flight: int | None = None
    waiting_rss_mb: float | None = None
    moderation_requests: float | None = None
    postgres_ms: float | None = None


def measure_events(
    name: str, watch: WatchedWorker, events: int, work: Callable[[], int | None]
) -> BenchResult:
    """Run ``work``, which publishes and waits, and return the cost per event."""
    cpu_s, started = watch.cpu_s(), time.monotonic()
    in_flight = work()
    elapsed_s = time.monotonic() - started
    cpu_ms = (watch.cpu_s() - cpu_s) / events * 1000
    rss_mb = watch.rss / 2**20
    return BenchResult(
        name=name,
        events=events,
        cpu_ms=round(cpu_ms, 4),
        per_s=round(events / elapsed_s),
        rss_mb=round(rss_mb),
        in_flight=in_flight,
        waiting_rss_mb=round(median(watch.waiting_rss) / 2**20) if watch.waiting_rss else None,
    )


def publish(redis: Redis, numbers: range) -> None:
    """Put events on the stream, a thousand a round trip."""
    for first in numbers[::1000]:
        publish_many(redis, [event(number) for number in range(first, min(first + 1000, numbers.stop))])


def bare_engine(redis: Redis, redis_url: str) -> BenchResult:
    """The engine with a handler that does nothing."""
    redis.flushall()
    with worker(["bench.noop_engine"], {"REDIS_URL": redis_url}) as watch:
        watch.until(lambda: has_worker(redis))

        def work() -> None:
            publish(redis, range(ENGINE_EVENTS))
            watch.until(lambda: redis.xlen(STREAM) == 0)

        return measure_events("engine, no-op handler", watch, ENGINE_EVENTS, work)


def stock_celery(redis: Redis, redis_url: str, pool: str, *more: str) -> BenchResult:
    """Celery with a task that does nothing."""
    redis.flushall()
    words = ["celery", "-A", "bench.noop_celery", "worker", "-P", pool, "-l", "WARNING", *more]
    noop_app.conf.broker_url = redis_url
    noop = noop_app.tasks["noop"]

    def idle() -> bool:
        return not redis.llen("celery") and not redis.hlen("unacked")

    with worker(words, {"REDIS_URL": redis_url}) as watch:
        watch.until(lambda: bool(noop_app.control.ping(timeout=0.5)))

        def work() -> None:
            with (
                noop_app.connection_for_write() as connection,
                noop_app.amqp.Producer(connection) as producer,
            ):
                for number in range(CELERY_EVENTS):
                    noop.apply_async((event(number),), producer=producer)
            watch.until(idle)

        return measure_events(f"Celery {pool}, no-op task", watch, CELERY_EVENTS, work)


def pipeline(
    redis: Redis,
    stack: Stack,
    *,
    events: int = PIPELINE_EVENTS,
    in_flight: int = IN_FLIGHT,
    completion_s: float = COMPLETION_S,
    judge: bool = True,
) -> BenchResult:
    """A whole worker: moderation, history, retrieval, completion, moderation again, commit, delivery."""
    redis.flushall()
    seed(stack)
    options = ("--moderation-latency", str(MODERATION_S), "--chat-latency", str(completion_s))
    with start(options=options) as sandbox:
        variables = environment(stack, sandbox, IN_FLIGHT=in_flight, **({} if judge else NO_JUDGE))
        words = ["tasks", "worker"]
        name = "pipeline, sandbox" if judge else "pipeline, sandbox, judge off"
        with worker(words, variables) as watch:
            watch.until(lambda: has_worker(redis))
            postgres = WatchedWorker(psutil.Process(stack.postgres_pid))
            before_s = postgres.cpu_s()
            result = measure_events(name, watch, events, lambda: _pipeline_work(redis, watch, events))
            postgres_ms = round((postgres.cpu_s() - before_s) / events * 1000, 3)
        requests = sandbox.calls("moderations") / (2 * events)
    require_replies(stack.database_url, events)
    return replace(result, moderation_requests=round(requests, 3), postgres_ms=postgres_ms)


def _without_judge() -> BenchResult:
    """``pipeline`` on servers of its own: its events have the same ids."""
    with Stack() as stack, Redis.from_url(stack.redis_url) as redis:
        return pipeline(redis, stack, judge=False)


def seed(stack: Stack) -> None:
    """An account with rules and a document."""
    add_account(stack.database_url, flagged_keywords=["spam"])


def _pipeline_work(redis: Redis, watch: WatchedWorker, events: int) -> int:
    most = 0

    def finished() -> bool:
        nonlocal most
        most = max(most, redis.hlen(f"{{{STREAM}}}:owner"))
        left = redis.xlen(STREAM)
        if left == events:
            watch.waiting_rss.append(watch.look())
        return left == 0

    publish(redis, range(events))
    watch.until(finished)
    return most


def table(results: list[BenchResult]) -> Table:
    """The results for people."""
    shown = Table("", "events", "CPU ms/event", "Postgres ms/event", "events/s", "RSS MB", "in flight")
    for each in results:
        shown.add_row(
            each.name,
            f"{each.events}",
            f"{each.cpu_ms:.3f}",
            "" if each.postgres_ms is None else f"{each.postgres_ms:.3f}",
            f"{each.per_s}",
            f"{each.rss_mb:.0f}",
            "" if each.in_flight is None else f"{each.in_flight}",
        )
    return shown


def main() -> None:
    """Run everything; a table on a terminal, JSON in a pipe, JSON in ``out/bench.json`` always."""
    with Stack() as stack, Redis.from_url(stack.redis_url) as redis:
        results = [
            bare_engine(redis, stack.redis_url),
            stock_celery(redis, stack.redis_url, "prefork", "-c", "2"),
            stock_celery(redis, stack.redis_url, "threads", "-c", "10"),
            _without_judge(),
            pipeline(redis, stack),
        ]
        from bench.checks import measure  # noqa: PLC0415  # it builds on this module

        check, times = measure(stack)
    engine, *celery = results[:3]
    ratios = {each.name: round(each.cpu_ms / engine.cpu_ms, 1) for each in celery}
    unread, decision = (round(each.cpu_ms / celery[-1].cpu_ms, 2) for each in results[3:])
    document = {
        "results": [asdict(each) for each in results],
        "times_the_engine": ratios,
        "decision_in_celery_tasks": decision,
        "decision_without_judge_in_celery_tasks": unread,
        "check": asdict(check)
        | {
            "per_s_and_core": round(1000 / check.cpu_ms),
            "in_decisions": round(check.cpu_ms / results[-1].cpu_ms, 2),
            "low_load": [asdict(each) for each in times],
        },
    }
    sentences = (
        *(f"{name}: {ratio} times the CPU of the engine" for name, ratio in ratios.items()),
        f"a whole decision: the CPU of {decision} empty tasks of {celery[-1].name}, {unread} without a judge",
        f"a check: {round(1000 / check.cpu_ms)} a second and core;"
        f" {times[1].p50_ms} ms (p50) beside its upstream calls",
        f"moderation: {results[-1].moderation_requests} requests a check",
    )
    show(document, (table([*results, check]), *sentences), OUT)


if __name__ == "__main__":
    main()
