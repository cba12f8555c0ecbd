"""Commits of decisions by concurrent callers: commits a second, time of one, and CPU of the process.

``python -m bench.commits``; Postgres waits for its disk, as deployed.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import uvloop
from rich.console import Console
from rich.table import Table

from cli.stack import Stack
from db import decisions, migrate
from db.commits.known import Recorded
from db.pool import Pool, create_pool
from worker.adapters.system_clock import SystemClock
from worker.model import Decision, DecisionKind, Event, Scope

CALLERS = (1, 8, 64, 256)
SECONDS = 4.0
CLOCK = SystemClock()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRun:
    """Commits by a number of concurrent callers, each of which commits one after the other.

    Attributes:
        per_s: commits a second.
        cpu_ms: of this process per commit.
        p50_ms: time of a commit; p99 likewise.
    """

    callers: int
    per_s: int
    cpu_ms: float
    p50_ms: float
    p99_ms: float


def decision(number: str) -> Decision:
    """A reply to a new event."""
    at = CLOCK.now()
    event = Event(
        event_id=number,
        entry_id=number,
        user_id="u",
        scope=Scope.CHAT,
        conversation_id=number,
        message_id=number,
        author_id="a",
        text="Within how many days may a purchase be returned?",
        created_at=at,
        received_at=at,
    )
    return Decision(
        decision_id=CLOCK.new_id(at),
        decided_at=at,
        event=event,
        kind=DecisionKind.RESPOND,
        reason_code="REPLIED",
        reason="every check passed",
        confidence=0.9,
        rules_version=1,
        reply="Within thirty days.",
        remember=True,
    )


async def measure(source: Pool, callers: int) -> CommitRun:
    """Commit for ``SECONDS``."""
    took_ms: list[float] = []
    until = time.monotonic() + SECONDS

    async def commit(caller: int, numbers: Iterator[int]) -> None:
        while time.monotonic() < until:
            made = decision(f"{until}/{caller}/{next(numbers)}")
            begun = time.perf_counter()
            assert await decisions.record_decision(source, made) is Recorded.NEW
            took_ms.append((time.perf_counter() - begun) * 1000)

    cpu_s = time.process_time()
    await asyncio.gather(*(commit(caller, iter(range(10**9))) for caller in range(callers)))
    cpu_s = time.process_time() - cpu_s
    return CommitRun(
        callers=callers,
        per_s=round(len(took_ms) / SECONDS),
        cpu_ms=round(cpu_s / len(took_ms) * 1000, 3),
        p50_ms=round(statistics.median(took_ms), 1),
        p99_ms=round(statistics.quantiles(took_ms, n=100)[-1], 1),
    )


async def measure_all(url: str) -> list[CommitRun]:
    """One run for each number of callers, with the connections of one worker."""
    async with create_pool(url, size=10, application="bench") as source:
        await measure(source, 16)  # connections and plans
        return [await measure(source, callers) for callers in CALLERS]


def main() -> None:
    """Print one line a run; JSON in a pipe."""
    with Stack() as stack:
        migrate.upgrade(stack.database_url)
        runs = uvloop.run(measure_all(stack.database_url))
    if not sys.stdout.isatty():
        print(json.dumps([asdict(each) for each in runs]))
        return
    shown = Table("callers", "commits/s", "CPU ms/commit", "p50 ms", "p99 ms")
    for each in runs:
        shown.add_row(*(f"{value}" for value in asdict(each).values()))
    Console().print(shown)


if __name__ == "__main__":
    main()
