"""A worker whose handler only waits, as for model servers: the queue without the pipeline. Until SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Final

import uvloop

from tasks.lanes.engine import Engine
from tasks.lanes.stream import EntryGrant, Lanes
from tasks.lanes.upkeep import EngineLimits
from tasks.shards.clients import connect
from tasks.shards.engines import ShardEngines
from tasks.shards.lanes import ShardedLanes
from worker.places import Places

WAIT_S: Final = 2.0


async def wait(_grant: EntryGrant) -> None:
    """Take as long as the model servers of an event."""
    await asyncio.sleep(WAIT_S)


async def main() -> None:
    """Run the engines of one worker."""
    redis = connect(os.environ["REDIS_URL"])
    places = Places(int(os.environ["HUSHGATE_IN_FLIGHT"]))
    name = f"bench:{os.getpid()}:0"
    lanes = ShardedLanes(redis, stream="hushgate:events", worker=name, keep_bytes=262_144)

    def open_engine(of_shard: Lanes) -> Engine:
        return Engine(of_shard, wait, EngineLimits(), places=places)

    engines = ShardEngines(lanes, places, open_engine)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, engines.drain)
    await engines.run()
    await redis.aclose()


if __name__ == "__main__":
    uvloop.run(main())
