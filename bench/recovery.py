"""How long a killed worker's conversations wait for a new owner, by heartbeat TTL.

Real workers under load, ended by SIGKILL and process id. A lane's wait is the time from the kill until Redis
names another owner for it. "all" kills every worker at once and starts as many new ones at the same moment;
its waits contain the start of a process, so the first heartbeat of a new worker is recorded too. The least
remaining life of a running worker's heartbeat shows the margin of the TTL.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, cast

import typer
from redis import Redis

from bench.load import STREAM, add_account, environment, event, until
from cli.stack import Stack
from sandbox.server import SandboxHandle, start
from tasks.publishing.publish import publish_many

KEYS = f"{{{STREAM}}}:"
WORKERS = 3
EVENTS = 60
CALL_S = 20.0
"""Length of a moderation call: longer than a recovery, so that lanes are in flight when their worker dies."""
OUT = Path("out/recovery.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneWaits:
    """How long lanes waited, in seconds.

    Attributes:
        late_s: longest wait beyond what no worker can shorten: the TTL, or the first fresh heartbeat.
        first_heartbeat_s: latest first heartbeat of a fresh worker, from the kill.
        least_life_s: least time that was left of a living worker's heartbeat.
    """

    killed: str
    ttl_s: int
    rounds: int
    lanes: int
    p50_s: float
    p99_s: float
    longest_s: float
    late_s: float
    first_heartbeat_s: float
    least_life_s: float


@dataclass(slots=True)
class Fleet:
    """Worker processes of one TTL."""

    redis: Redis
    environment: dict[str, str]
    ttl_s: int
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    published: int = 0
    least_life_s: float = float("inf")
    late_s: float = 0.0
    first_heartbeat_s: float = 0.0

    def start(self, count: int) -> None:
        """Start workers."""
        with OUT.with_name("recovery-worker.log").open("ab") as log:
            for _ in range(count):
                words = ["-m", "celery", "-A", "tasks.app", "worker", "-n", f"{time.time_ns()}@%h"]
                process = subprocess.Popen(
                    [sys.executable, *words], env={**os.environ, **self.environment}, stdout=log, stderr=log
                )
                self.workers[process.pid] = process

    def kill(self, pids: list[int]) -> float:
        """SIGKILL workers; the moment of it."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        moment = time.monotonic()
        for pid in pids:
            self.workers.pop(pid).wait(30)
        return moment

    def owners(self) -> dict[str, int]:
        """The process that owns each lane."""
        owned = cast("dict[bytes, bytes]", self.redis.hgetall(f"{KEYS}owner"))
        return {lane.decode(): int(value.split(b":")[1]) for lane, value in owned.items()}

    def beating(self) -> set[int]:
        """Our processes that have a heartbeat; notes the least life left."""
        pids = set()
        for key in cast("Iterator[bytes]", self.redis.scan_iter(f"{KEYS}hb:*", count=1000)):
            pid, life_ms = int(key.split(b":")[-2]), int(self.redis.pttl(key))
            if pid in self.workers and life_ms > 0:
                pids.add(pid)
                self.least_life_s = min(self.least_life_s, life_ms / 1000)
        return pids

    def ready(self) -> None:
        """Wait until every worker has a heartbeat."""
        until(lambda: self.beating() == set(self.workers), 120)

    def load(self) -> None:
        """Publish events of new conversations and wait until each worker owns some of them."""
        numbers = range(self.published, self.published + EVENTS)
        self.published += EVENTS
        for number in numbers:  # one at a time: a batch would go to the first worker that reads
            publish_many(self.redis, [event(number)], stream=STREAM)
            time.sleep(0.005)
        until(lambda: set(self.owners().values()) >= set(self.workers), 60)

    def done(self, lanes: set[str]) -> set[str]:
        """Those without entries: their last one was finished in the moment of the kill."""
        return {lane for lane in lanes if not self.redis.exists(f"{KEYS}lane:{lane}")}

    def waits(self, killed: list[int], moment: float, lost: set[str]) -> list[float]:
        """Seconds until each lost lane had another owner; a lane that is done counts as taken."""
        found: list[float] = []
        first_s = 0.0
        while lost and time.monotonic() < moment + 120:
            owners, waited_s = self.owners(), time.monotonic() - moment
            taken = {lane for lane in lost if owners.get(lane, -1) not in (*killed, -1)}
            found += [waited_s] * len(taken)
            lost -= taken | self.done(lost - owners.keys())
            first_s = first_s or (waited_s if self.beating() else 0.0)
            time.sleep(0.01)
        if lost:
            raise TimeoutError(f"{len(lost)} lanes without an owner")
        self.first_heartbeat_s = max(self.first_heartbeat_s, first_s)
        self.late_s = max(self.late_s, found[-1] - max(self.ttl_s, first_s))
        return found


@contextmanager
def fleet(stack: Stack, sandbox: SandboxHandle, redis: Redis, ttl_s: int) -> Iterator[Fleet]:
    """Workers on an empty Redis."""
    redis.flushall()
    limits = {"HEARTBEAT_TTL_S": ttl_s, "MODERATION_TIMEOUT_S": 3 * CALL_S, "MAX_STARTS": 1000}
    running = Fleet(redis=redis, environment=environment(stack, sandbox, **limits), ttl_s=ttl_s)
    try:
        running.start(WORKERS)
        running.ready()
        yield running
    finally:
        running.kill(list(running.workers))


def measure_waits(running: Fleet, rounds: int, *, together: bool) -> LaneWaits:
    """Kill one worker a round, or all of them, and replace them at once."""
    waits: list[float] = []
    running.late_s = running.first_heartbeat_s = 0.0
    for _ in range(rounds):
        running.load()
        owners = running.owners()
        victims = (
            list(running.workers) if together else [max(running.workers, key=list(owners.values()).count)]
        )
        lost = {lane for lane, pid in owners.items() if pid in victims}
        moment = running.kill(victims)
        running.start(len(victims))
        waits += running.waits(victims, moment, lost)
        running.ready()
    waits.sort()
    return LaneWaits(
        killed="all" if together else "one",
        ttl_s=running.ttl_s,
        rounds=rounds,
        lanes=len(waits),
        p50_s=round(waits[len(waits) // 2], 2),
        p99_s=round(waits[int(len(waits) * 0.99)], 2),
        longest_s=round(waits[-1], 2),
        late_s=round(running.late_s, 2),
        first_heartbeat_s=round(running.first_heartbeat_s, 2),
        least_life_s=round(running.least_life_s, 2),
    )


def main(
    ttl: Annotated[list[int], typer.Option(help="Heartbeat TTLs to measure, in seconds.")] = [3, 10],  # noqa: B006
    single: Annotated[int, typer.Option(min=1, help="Kills of one worker.")] = 20,
    together: Annotated[int, typer.Option(min=1, help="Kills of all workers at once.")] = 5,
) -> None:
    """Measure; one JSON object a line, and all of them in ``out/recovery.json``."""
    OUT.parent.mkdir(exist_ok=True)
    results = []
    with Stack() as stack, start() as sandbox, Redis.from_url(stack.redis_url) as redis:
        add_account(stack.database_url, documents={})
        sandbox.set_latency(moderations={"low_s": CALL_S, "high_s": CALL_S})
        for ttl_s in ttl:
            with fleet(stack, sandbox, redis, ttl_s) as running:
                for rounds, all_of_them in ((single, False), (together, True)):
                    results.append(measure_waits(running, rounds, together=all_of_them))
                    print(json.dumps(asdict(results[-1])), flush=True)
    OUT.write_text(json.dumps([asdict(each) for each in results], indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
