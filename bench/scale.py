"""How throughput grows with worker processes and shards: ``python -m bench.scale``.

The model servers answer after a fixed time and each process runs few events at once, so that it is limited by
its upstreams and not by CPU, as in production: two idle cores then suffice for four processes.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Final

import orjson
import psutil
from redis import Redis
from rich.console import Console
from rich.table import Table

from bench.engine import seed
from bench.load import STREAM, environment, event, until, worker
from cli.stack import Stack
from sandbox.server import start
from tasks.publishing.publish import append, open_shards
from tasks.shards.agreement import current_layout

PROCESSES: Final = (1, 2, 4)
SHARDS: Final = (1, 3)
WORKERS: Final = {
    "queue": (("bench.scale_worker",), 100),
    "pipeline": (("tasks", "worker"), 24),
}
"""The module of each kind of worker, and how many events one process runs at once. ``queue`` waits 2 s for
each event; ``pipeline`` is the whole worker, whose upstreams take 5 s for a reply, the judge's
reading beside the moderation of the reply."""
MODERATION_S: Final = 1.0
COMPLETION_S: Final = 3.0
JUDGE_S: Final = 1.0
WAVES: Final = 3
"""Events of each process, as a multiple of those that it runs at once."""
PATIENCE_S: Final = 300.0
RESULT: Final = Path("out/scale.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleRun:
    """One run; ``ratio`` compares with half as many processes, ``busy`` is the share of all cores in use."""

    worker: str
    shards: int
    processes: int
    events: int
    seconds: float
    per_s: float
    ratio: float | None
    worker_cpu_ms: float
    busy: float


def alive(redis: Redis) -> int:
    """Workers that take every shard."""
    return min(int(redis.scard(f"{each.prefix}workers")) for each in current_layout(redis, STREAM).current())


def unfinished(redis: Redis) -> int:
    """Entries of all shards."""
    return sum(int(redis.xlen(each.key)) for each in current_layout(redis, STREAM).streams())


def payloads(count: int, run: str) -> list[bytes]:
    """Events of as many conversations, which the account's document answers."""
    return [orjson.dumps(event(f"{run}-{number}")) for number in range(count)]


def measure(redis: Redis, variables: dict[str, str], kind: str, shards: int, processes: int) -> ScaleRun:
    """Start the workers on an empty Redis, publish, and wait until all is decided."""
    redis.flushall()
    open_shards(redis, STREAM, shards)
    _, in_flight = WORKERS[kind]
    events = WAVES * in_flight * processes
    variables = variables | {"HUSHGATE_SHARDS": str(shards), "HUSHGATE_IN_FLIGHT": str(in_flight)}
    with ExitStack() as stack:
        words = WORKERS[kind][0]
        running = [stack.enter_context(worker([*words], variables)) for _ in range(processes)]
        until(lambda: alive(redis) >= processes, PATIENCE_S)
        before = sum(each.cpu_s() for each in running)
        psutil.cpu_percent()  # the next call counts from here
        started = time.monotonic()
        append(redis, payloads(events, f"{shards}-{processes}"), stream=STREAM)
        until(lambda: not unfinished(redis), PATIENCE_S)
        seconds = time.monotonic() - started
        busy = psutil.cpu_percent()
        used = sum(each.cpu_s() for each in running) - before
    return ScaleRun(
        worker=kind,
        shards=shards,
        processes=processes,
        events=events,
        seconds=round(seconds, 2),
        per_s=round(events / seconds, 1),
        ratio=None,
        worker_cpu_ms=round(1000 * used / events, 2),
        busy=round(busy / 100, 2),
    )


def main() -> None:
    """Measure the grid and print it."""
    options = ("--moderation-latency", str(MODERATION_S), "--chat-latency", str(COMPLETION_S))
    runs: list[ScaleRun] = []
    console = Console()
    with Stack() as stack, start(options=options) as sandbox, Redis.from_url(stack.redis_url) as redis:
        sandbox.set_latency(judge=JUDGE_S)
        seed(stack)
        for kind, shards, processes in product(WORKERS, SHARDS, PROCESSES):
            run = measure(redis, environment(stack, sandbox), kind, shards, processes)
            runs.append(with_ratio(run, runs))
            console.print(runs[-1])
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_bytes(orjson.dumps([asdict(run) for run in runs], option=orjson.OPT_INDENT_2))
    console.print(table(runs))


def with_ratio(run: ScaleRun, earlier: list[ScaleRun]) -> ScaleRun:
    """The run beside the one with half as many processes."""
    same = [each for each in earlier if (each.worker, each.shards) == (run.worker, run.shards)]
    halves = [each for each in same if 2 * each.processes == run.processes]
    if not halves:
        return run
    return ScaleRun(**asdict(run) | {"ratio": round(run.per_s / halves[0].per_s, 2)})


def table(runs: list[ScaleRun]) -> Table:
    """The results for people."""
    shown = Table("worker", "shards", "processes", "events/s", "ratio", "worker CPU ms/event", "machine busy")
    for run in runs:
        ratio = "" if run.ratio is None else f"{run.ratio:.2f}"
        figures = (f"{run.per_s}", ratio, f"{run.worker_cpu_ms}", f"{run.busy:.0%}")
        shown.add_row(run.worker, str(run.shards), str(run.processes), *figures)
    return shown


if __name__ == "__main__":
    main()
