"""One engine per shard in one worker, which follows a doubling of the shards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog
from redis.exceptions import RedisError

from tasks.lanes.engine import Engine
from tasks.lanes.stream import Lanes
from tasks.shards.lanes import ShardedLanes
from tasks.shards.layout import Shard
from worker.cancellation import cancel_all
from worker.places import Places

log = structlog.get_logger(__name__)

LOOK_S: Final = 1.0
"""Pause between two looks at the layout, each one GET."""
FIRST_LOOK_S: Final = 0.25
"""Pause between two looks until Redis has answered once."""


class ShardEngines:
    """The engines of one worker, which share its places.

    After a doubling the engines of the new shards start; the earlier shards are empty, and their engines end.

    Args:
        lanes: the lanes of this worker, over all shards.
        places: the worker's in-flight limit.
        open_engine: an engine over the lanes of a shard.
        shards: HUSHGATE_SHARDS.
    """

    def __init__(
        self,
        lanes: ShardedLanes,
        places: Places,
        open_engine: Callable[[Lanes], Engine],
        *,
        shards: int | None = None,
    ) -> None:
        self._shards = shards
        self._agreed = False
        self._lanes = lanes
        self._places = places
        self._open_engine = open_engine
        self._engines: dict[Shard, Engine] = {}
        self._runs: dict[Shard, asyncio.Task[None]] = {}
        self._draining = asyncio.Event()

    @property
    def in_flight(self) -> int:
        """Number of running lanes over all shards."""
        return sum(engine.in_flight for engine in self._engines.values())

    def drain(self) -> None:
        """Stop admitting; ``run`` returns when every engine has drained."""
        self._draining.set()
        for engine in self._engines.values():
            engine.drain()

    async def run(self) -> None:
        """Work until ``drain`` is called.

        Raises:
            ConfigurationError: the streams have another number of shards.
            Exception: a bug ended one of the engines; all of them end.
        """
        stopping = asyncio.create_task(self._draining.wait())
        try:
            while not self._draining.is_set():
                pause_s = await self._look()
                await asyncio.wait(
                    {stopping, *self._runs.values()}, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED
                )
                self._collect()
            await asyncio.gather(*self._runs.values())
        finally:
            self.drain()
            await cancel_all([stopping, *self._runs.values()])
            await self._lanes.close()

    async def _look(self) -> float:
        """Start and drain engines as the layout says; seconds until the next look."""
        try:
            if not self._agreed:
                await self._lanes.agree(self._shards)
                self._agreed = True
            layout = await self._lanes.look()
        except (RedisError, OSError) as error:
            log.warning("shards_not_read", error=type(error).__name__)
            return LOOK_S if self._engines else FIRST_LOOK_S
        self._places.share_among(layout.shards)
        for shard in layout.current():
            self._start(shard)
        for shard in self._engines.keys() - set(layout.current()):  # doubled, or agreed after the start
            self._engines[shard].drain()
        return LOOK_S

    def _start(self, shard: Shard) -> None:
        if shard in self._engines or self._draining.is_set():
            return
        engine = self._engines[shard] = self._open_engine(self._lanes.of(shard))
        self._runs[shard] = asyncio.create_task(engine.run())
        log.info("shard_taken", stream=shard.name)

    def _collect(self) -> None:
        """Forget the engines that have drained.

        Raises:
            Exception: a bug ended one.
        """
        for shard in [shard for shard, run in self._runs.items() if run.done()]:
            self._runs.pop(shard).result()
            if not self._draining.is_set():
                del self._engines[shard]
