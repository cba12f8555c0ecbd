"""Events a second through one gateway process, by the size of batches: ``python -m bench.ingest``."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from cli.deployment.loopback import free_address, status
from cli.stack import Stack
from db import migrate
from db.people.api_tokens import TokenScope
from tests.support.publishing import new_event, token

SECONDS = 5.0
CLIENTS = 8
SIZES = (1, 10, 100)
UNLIMITED = {"HUSHGATE_INGEST_TOKEN_RATE": "0", "HUSHGATE_INGEST_ACCOUNT_RATE": "0"}


async def publish_for(url: str, key: str, size: int) -> tuple[int, list[float]]:
    """Publish with ``CLIENTS`` clients for ``SECONDS``; the accepted events, and the seconds of requests."""
    end, durations = time.monotonic() + SECONDS, list[float]()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    async def client(session: aiohttp.ClientSession) -> int:
        accepted = 0
        while (started := time.monotonic()) < end:
            body = json.dumps([new_event() for _ in range(size)])
            async with session.post(f"{url}/api/v1/events", data=body, headers=headers) as answer:
                accepted += len((await answer.json())["events"])
            durations.append(time.monotonic() - started)
        return accepted

    async with aiohttp.ClientSession() as session:
        accepted = await asyncio.gather(*(client(session) for _ in range(CLIENTS)))
    return sum(accepted), sorted(durations)


def measure(url: str, key: str, process: subprocess.Popen[bytes], size: int) -> dict[str, Any]:
    """Rates and CPU time of the gateway at one batch size."""
    before = cpu_s(process.pid)
    events, durations = asyncio.run(publish_for(url, key, size))
    used = cpu_s(process.pid) - before
    return {
        "events_a_request": size,
        "requests_s": round(len(durations) / SECONDS),
        "events_s": round(events / SECONDS),
        "cpu_ms_an_event": round(1000 * used / events, 3),
        "p50_ms": round(1000 * durations[len(durations) // 2], 1),
        "p99_ms": round(1000 * durations[int(len(durations) * 0.99)], 1),
    }


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure on embedded servers and print JSON."""
    with Stack() as stack:
        migrate.upgrade(stack.database_url)
        key, url = token(stack.database_url, TokenScope.PUBLISH), free_address()
        known = {"DATABASE_URL": stack.database_url, "REDIS_URL": stack.redis_url, **UNLIMITED}
        command = [sys.executable, "-m", "cli", "gateway", "--port", str(urlsplit(url).port)]
        process = subprocess.Popen(command, env=os.environ | known, stderr=subprocess.DEVNULL)
        try:
            while status(f"{url}/readyz") != 200:
                time.sleep(0.1)
            for size in SIZES:
                print(json.dumps(measure(url, key, process, size)), flush=True)
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
