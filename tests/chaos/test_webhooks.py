"""Killed pollers: a receiver that honours the id has every event once, in the order of its conversation."""

from __future__ import annotations

import asyncio
import random
import sys
from asyncio.subprocess import Process
from collections import defaultdict

from db.pool import WORKER_ROLE, create_pool
from db.webhooks import deliveries
from tests.support.webhooks import Receiver, Request, add_endpoint, add_events, answer, new_account, receiving

KILLS = 6
EVENTS = 400
CONVERSATIONS = 40
PAUSE_S = 0.02
"""The receiver's work for a request; a poller is killed in the middle of several."""


async def start(url: str) -> Process:
    """A poller in a process of its own."""
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.support.webhook_process", url)


async def test_killed_pollers_lose_no_event_and_keep_the_order(database_url: str) -> None:
    """Two pollers, of which the older one is killed again and again while requests run."""
    draw, account = random.Random(20261122), new_account()
    first_seen: dict[str, list[str]] = defaultdict(list)
    known: set[str] = set()

    async def says(request: Request) -> bytes:
        await asyncio.sleep(PAUSE_S)
        if request.identifier not in known:
            known.add(request.identifier)
            data = request.json["data"]
            first_seen[data["conversation_id"]].append(data["number"])
        return answer()

    async with (
        create_pool(database_url, size=2, application="test", role=WORKER_ROLE) as source,
        create_pool(database_url, size=1, application="test", role="hushgate_reviewer") as people,
        receiving(Receiver(says=says)) as receiver,
    ):
        endpoint = await add_endpoint(people, account, receiver.url)
        names = [f"c{draw.randrange(CONVERSATIONS)}" for _ in range(EVENTS)]
        keys = await add_events(source, account, *names)
        pollers = [await start(database_url) for _ in range(2)]
        for kill in range(1, KILLS + 1):
            await receiver.count(kill * EVENTS // (KILLS + 2))
            victim = pollers.pop(0)
            victim.kill()
            await victim.wait()
            pollers.append(await start(database_url))
        for _ in range(600):  # until the last leases of killed pollers have ended
            if not await deliveries.list_deliveries(people, endpoint, limit=1, state="waiting"):
                break
            await asyncio.sleep(0.1)
        for each in pollers:
            each.kill()
            await each.wait()
    expected: dict[str, list[str]] = defaultdict(list)
    for name, key in zip(names, keys, strict=True):
        expected[name].append(key)

    assert first_seen == expected
    assert EVENTS < len(receiver.requests) < EVENTS * 1.5  # some were sent again after a kill
