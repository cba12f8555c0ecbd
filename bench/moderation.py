"""Moderation checks in shared requests beside one request each: requests, CPU and latency by rate.

``python -m bench.moderation``; CPU is that of this process, which runs the adapter only. The sandbox answers
after 0.2 s; what a check takes beyond that is the adapter's wait, the sandbox's work and the event loop.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass

import uvloop
from rich.console import Console
from rich.table import Table

from sandbox.server import SandboxHandle, start
from worker.adapters import openai_client
from worker.adapters.openai_moderation import OpenAIModerator

LATENCY_S = 0.2
RATES_PER_S = (5, 50, 200, 500, 1000)
SECONDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationRun:
    """Checks at one rate.

    Attributes:
        per_s: checks started a second.
        most_texts: of a request.
        requests_per_check: 1 without shared requests.
        cpu_ms: of this process per check.
        p50_ms: time of a check beyond the latency of the sandbox; p99 likewise.
    """

    per_s: int
    most_texts: int
    requests_per_check: float
    cpu_ms: float
    p50_ms: float
    p99_ms: float


async def measure(sandbox: SandboxHandle, per_s: int, most_texts: int) -> ModerationRun:
    """Start checks at a rate, each about a text of its own, until all have ended."""
    sandbox.reset()
    sandbox.set_latency(moderations=LATENCY_S)
    checks, took_ms = per_s * SECONDS, []
    async with openai_client.client(sandbox.base_url, None, connections=1000) as client:
        moderator = OpenAIModerator(client, model="omni", timeout_s=30, most_texts=most_texts)

        async def check(number: int) -> None:
            await asyncio.sleep(number / per_s)
            begun = time.perf_counter()
            await moderator.moderate(f"Where is my order {number}?", ())
            took_ms.append((time.perf_counter() - begun - LATENCY_S) * 1000)

        cpu_s = time.process_time()
        await asyncio.gather(*(check(number) for number in range(checks)))
        cpu_s = time.process_time() - cpu_s
    return ModerationRun(
        per_s=per_s,
        most_texts=most_texts,
        requests_per_check=round(sandbox.calls("moderations") / checks, 3),
        cpu_ms=round(cpu_s / checks * 1000, 3),
        p50_ms=round(statistics.median(took_ms), 1),
        p99_ms=round(statistics.quantiles(took_ms, n=100)[-1], 1),
    )


def main() -> None:
    """Print one line a run; JSON in a pipe."""
    with start() as sandbox:
        runs = [
            uvloop.run(measure(sandbox, per_s, most_texts)) for per_s in RATES_PER_S for most_texts in (1, 32)
        ]
    if not sys.stdout.isatty():
        print(json.dumps([asdict(each) for each in runs]))
        return
    shown = Table("checks/s", "texts/request", "requests/check", "CPU ms/check", "p50 ms", "p99 ms")
    for each in runs:
        shown.add_row(*(f"{value}" for value in asdict(each).values()))
    Console().print(shown)


if __name__ == "__main__":
    main()
