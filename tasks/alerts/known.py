"""The alerts that the last check found, kept in Redis for the next check."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from redis.asyncio import Redis

from tasks.alerts.changes import NAMED, AlertState
from tasks.shards.clients import connect

REACH_S = 10.0


def alerts_key(stream: str) -> str:
    """A hash: name of the alert -> its state."""
    return f"{{{stream}}}:alerts"


async def load_known(url: str, stream: str) -> dict[str, AlertState]:
    """The states; alerts that this release does not declare are left out.

    Raises:
        RedisError: Redis did not answer.
    """
    async with _connected(url) as redis:
        stored: dict[Any, Any] = await redis.hgetall(alerts_key(stream))
    values = {name.decode(): orjson.loads(state) for name, state in stored.items()}
    return {
        name: AlertState(since=datetime.fromisoformat(each["since"]), posted=bool(each["posted"]))
        for name, each in values.items()
        if name in NAMED
    }


async def keep_known(url: str, stream: str, states: Mapping[str, AlertState]) -> None:
    """Keep the states in place of the earlier states.

    Raises:
        RedisError: Redis did not answer.
    """
    async with _connected(url) as redis, redis.pipeline(transaction=True) as commands:
        commands.delete(alerts_key(stream))
        if states:
            values: dict[Any, Any] = {
                name: orjson.dumps({"since": each.since.isoformat(), "posted": each.posted}).decode()
                for name, each in states.items()
            }
            commands.hset(alerts_key(stream), mapping=values)
        await commands.execute()


def _connected(url: str) -> Redis:
    return connect(url, timeout_s=REACH_S)
