"""A healthy webhook endpoint alone, and beside dead ones: ``python -m bench.webhooks``.

Prints one JSON object: events a second that the healthy endpoint receives, alone and beside endpoints that
hang or refuse, and the median and 99th percentile of the delay from an event's commit to its request. Compare
the ratios of one run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import statistics
import time
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from cli.stack import Stack
from db.pool import WORKER_ROLE, Pool, checkout, create_pool
from db.schema import migrate
from tasks.webhooks.poller import WebhookPoller
from tests.conftest import create_database, database_at
from tests.support.webhooks import Receiver, Request, add_endpoint, add_events, answer, hang, receiving
from worker.adapters.webhook_sender import WebhookSender
from worker.cancellation import cancel_all

EVENTS: Final = 1000
SINGLE: Final = 100
DEAD: Final = 50
BACKLOG: Final = 100
"""Events that wait for each dead endpoint."""
SETTLE_S: Final = 5.0


async def measured(source: Pool, people: Pool, account: str, dead_urls: list[str]) -> dict[str, Any]:
    """Throughput of a burst, then delays of single events, at the healthy endpoint."""
    sent_at: dict[str, float] = {}
    delays: list[float] = []

    async def says(request: Request) -> bytes:
        if began := sent_at.get(request.json["data"]["number"]):
            delays.append(time.monotonic() - began)
        return answer()

    async with receiving(Receiver(says=says)) as receiver:
        await add_endpoint(people, account, receiver.url)
        for number, url in enumerate(dead_urls):
            await add_endpoint(people, f"dead-{number}", url)
            await add_events(source, f"dead-{number}", *(f"c{number}" for number in range(BACKLOG)))
        sender = WebhookSender(loopback=True, now=lambda: datetime.now(UTC))
        running = asyncio.create_task(WebhookPoller(source, sender, now=lambda: datetime.now(UTC)).run())
        await asyncio.sleep(SETTLE_S)  # deliveries of the dead ones are made, and their first attempts
        began = time.monotonic()
        await add_events(source, account, *(f"c{number}" for number in range(EVENTS)))
        await receiver.count(EVENTS)
        burst_s = time.monotonic() - began
        for number in range(SINGLE):
            (key,) = await add_events(source, account, f"single-{number}")
            sent_at[key] = time.monotonic()
            await asyncio.sleep(0.05)
        await receiver.count(EVENTS + SINGLE)
        await cancel_all([running])
    places = statistics.quantiles(delays, n=100)
    return {
        "events_per_s": round(EVENTS / burst_s),
        "p50_s": round(places[49], 3),
        "p99_s": round(places[98], 3),
    }


async def compared(url: str) -> dict[str, Any]:
    """Alone, beside endpoints that hang, beside endpoints where nothing listens."""
    async with (
        create_pool(url, size=8, application="bench", role=WORKER_ROLE) as source,
        create_pool(url, size=1, application="bench", role="hushgate_reviewer") as people,
        receiving(Receiver(says=hang)) as dead,
    ):
        found: dict[str, Any] = {}
        for name, urls in (
            ("alone", []),
            (f"beside {DEAD} that refuse", [Receiver(port=1).url] * DEAD),
            (f"beside {DEAD} that hang", [dead.url] * DEAD),
        ):
            async with checkout(people) as connection:
                await connection.execute("DELETE FROM webhook_endpoints")
            found[name] = await measured(source, people, name, urls)
        alone = found["alone"]["events_per_s"]
        return found | {
            "ratios": {name: round(each["events_per_s"] / alone, 2) for name, each in found.items()}
        }


def main() -> None:
    """Measure on servers of its own."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with Stack() as stack:
        create_database(stack.database_url, "bench_webhooks")
        url = database_at(stack.database_url, "bench_webhooks")
        migrate.upgrade(url)
        print(json.dumps(asyncio.run(compared(url)), indent=2))


if __name__ == "__main__":
    main()
