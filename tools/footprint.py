"""Measures a worker: seconds to import it, and memory when it is idle: ``python -m tools.footprint``."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cli.stack.fleet import Fleet, fleet
from cli.stack.start_watch import await_workers
from tasks.shards.clients import connect

IMPORT: Final = (
    "import time; began, used = time.perf_counter(), time.process_time();"
    "from tasks.__main__ import import_lean; import_lean(); import tasks.app;"
    "print(time.perf_counter() - began, time.process_time() - used)"
)
IDLE_S: Final = 20.0
"""A worker is idle this long after its start: pools are filled and the first sweeps have run."""


def imported(environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds and seconds of CPU to import a worker in a fresh interpreter; the least of three."""
    runs = []
    for _ in range(3):
        done = subprocess.run(  # noqa: S603  # our own module
            [sys.executable, "-P", "-c", IMPORT], env=dict(environment), capture_output=True, check=True
        )
        wall, cpu = done.stdout.split()
        runs.append((float(wall), float(cpu)))
    return min(wall for wall, _ in runs), min(cpu for _, cpu in runs)


def memory_mb(pid: int) -> dict[str, float]:
    """Resident memory of a process in MB, with its parts: anonymous, and mapped from files."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.findall(r"^(VmRSS|RssAnon|RssFile):\s+(\d+)", status, re.MULTILINE)
    return {name: int(kb) / 1024 for name, kb in found}


async def _started(running: Fleet) -> None:
    client = connect(running.environment["REDIS_URL"])
    try:
        await await_workers(running, client, "hushgate:events", ("worker-1",), print)
    finally:
        await client.aclose()


def main() -> None:
    """Print both figures as JSON."""
    with fleet() as running:
        seconds, cpu_s = imported(running.environment)
        running.start_worker("worker-1")
        asyncio.run(_started(running))
        time.sleep(IDLE_S)
        memory = memory_mb(running.workers["worker-1"].pid)
    figures = {"import_s": seconds, "import_cpu_s": cpu_s, **memory}
    sys.stdout.write(json.dumps({name: round(value, 2) for name, value in figures.items()}) + "\n")


if __name__ == "__main__":
    main()
