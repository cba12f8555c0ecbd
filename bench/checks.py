"""The cost of a check: CPU and throughput of a gateway, and what it adds to its upstream calls at low load.

``python -m bench.checks``, and a line of ``make bench``. Each check has a message, a draft and a passage: two
moderation calls in a row and a reading by the judge beside the second. The upstreams' share is the time of
two such calls in a row by a bare aiohttp client in the same run.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import uvloop

from bench.engine import IN_FLIGHT, BenchResult, measure_events, seed
from bench.load import WatchedWorker, environment, worker
from bench.low_load import CALLS, EVENTS, WARM_UP, Times, bare_calls, times
from cli.demo.sample_reviewers import add_person
from cli.deployment.loopback import free_address, status
from cli.stack import Stack
from db.people.api_tokens import TokenScope
from db.people.records import Role
from db.review_store import Store
from review.auth.api_tokens import store_new_token
from sandbox.server import start

CHECKS = 3_000
TWO_CALLS = (CALLS[0], CALLS[2])
AT_ONCE = 16


async def api_token(url: str) -> str:
    """A new API token that may have texts of every account checked."""
    async with Store(url, size=1) as store, store.writing() as connection:
        person_id = await add_person(connection, "bench", "Bench", (Role.ACCOUNT_ADMIN,))
        token, _ = await store_new_token(
            connection,
            person_id,
            name="bench",
            lasts=timedelta(days=1),
            scopes=(TokenScope.CHECK,),
            now=datetime.now(UTC),
        )
    return token


def body() -> dict[str, Any]:
    """A check."""
    return {
        "user_id": "u",
        "message": "Within how many days may a purchase be returned?",
        "draft": "A purchase may be returned within thirty days.",
        "passages": [{"text": "A purchase may be returned within thirty days.", "title": "Returns"}],
    }


@asynccontextmanager
async def _client(key: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        yield session


async def _check(session: aiohttp.ClientSession, url: str) -> None:
    async with session.post(f"{url}/v1/checks", json=body()) as response:
        found = await response.json()
        if found.get("verdict") != "allow":
            raise AssertionError(f"expected a verdict allow, got {response.status}: {found}")


async def low_load(url: str, key: str) -> list[float]:
    """Milliseconds of checks, one after the other."""
    took_ms = []
    async with _client(key) as session:
        for _ in range(WARM_UP + EVENTS):
            begun = time.perf_counter()
            await _check(session, url)
            took_ms.append((time.perf_counter() - begun) * 1000)
    return took_ms[WARM_UP:]


async def _many(url: str, key: str) -> None:
    left = iter(range(CHECKS))

    async def ask(session: aiohttp.ClientSession) -> None:
        for _ in left:
            await _check(session, url)

    async with _client(key) as session:
        await asyncio.gather(*(ask(session) for _ in range(AT_ONCE)))


def measure(stack: Stack) -> tuple[BenchResult, tuple[Times, Times]]:
    """The cost of checks, and the times at low load: of the upstream calls, and added to them."""
    url, key = free_address(), asyncio.run(api_token(stack.database_url))
    with start() as sandbox:
        variables = environment(stack, sandbox, IN_FLIGHT=IN_FLIGHT, INGEST_RATE=0)
        with worker(["cli", "gateway", "--port", str(urlsplit(url).port)], variables) as watch:
            watch.until(lambda: status(f"{url}/readyz") == 200)
            before = uvloop.run(bare_calls(sandbox, TWO_CALLS))
            alone = uvloop.run(low_load(url, key))
            upstream = times("the two upstream calls", before + uvloop.run(bare_calls(sandbox, TWO_CALLS)))
            result = measure_events("check, sandbox", watch, CHECKS, lambda: _work(url, key, watch))
    added = times("added by a check", [took - upstream.p50_ms for took in alone])
    return result, (upstream, added)


def _work(url: str, key: str, watch: WatchedWorker) -> int:
    uvloop.run(_many(url, key))
    watch.look()
    return AT_ONCE


def main() -> None:
    """Print one JSON object."""
    with Stack() as stack:
        seed(stack)
        result, found = measure(stack)
    print(json.dumps({"check": asdict(result), "low_load": [asdict(each) for each in found]}))


if __name__ == "__main__":
    main()
