"""The engine with a handler that does nothing, until SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal

import uvloop

from tasks.lanes.engine import Engine
from tasks.lanes.stream import EntryGrant, Lanes
from tasks.lanes.upkeep import EngineLimits
from tasks.shards.clients import connect


async def ignore(_grant: EntryGrant) -> None:
    """Do nothing with an event."""


async def main() -> None:
    """Run one engine as a worker would."""
    redis = connect(os.environ["REDIS_URL"])
    lanes = Lanes(redis, stream="hushgate:events", worker=f"bench:{os.getpid()}:0", keep_bytes=262_144)
    engine = Engine(lanes, ignore, EngineLimits())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, engine.drain)
    await engine.run()
    await redis.aclose()


if __name__ == "__main__":
    uvloop.run(main())
